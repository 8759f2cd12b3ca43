package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
)

func recordCommand(a *app) *cobra.Command {
	var f probeFlags
	cmd := probeCommand(a, "record FILE TARGET", a.t("stand between a client on stdio and a server, and record what they say", "置于 stdio 客户端与服务之间，录制双方的消息"), &f,
		func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
				return usageError(a, cmd, a.t("a file is missing", "缺少文件"))
			}
			return record(a, cmd, &f, args)
		})
	cmd.Long = a.t("Serve one client over standard input and output, pass everything on to TARGET, and record it.\nPut this command into a client's configuration to record what the client does.",
		"通过标准输入输出服务一个客户端，将一切转发给 TARGET 并录制。\n可写入客户端配置，以录制客户端的行为。")
	cmd.Example = "  mcp-all-in-one record run.mcpcap -- npx -y @modelcontextprotocol/server-everything\n  mcp-all-in-one record run.mcpcap github"
	return cmd
}

func record(a *app, cmd *cobra.Command, f *probeFlags, args []string) error {
	file := args[0]
	m, err := aimRest(a, cmd, f, args)
	if err != nil {
		return err
	}
	f.trace = file
	b := &bout{app: a, aim: m, flags: f}
	b.ctx = b.interruptible(cmd.Context())
	defer b.close()
	launcher, err := newLauncher()
	if err != nil {
		return err
	}
	b.onClose(func() { launcher.Close() })
	opt := probe.Options{Launcher: launcher}
	if err := b.route(&opt); err != nil {
		return err
	}
	if err := b.watch(&opt); err != nil {
		return err
	}
	return probeError(a, probe.Relay(b.ctx, plainStream(a), m.target, opt), m)
}

// plainStream is the stream over our standard input and output.
func plainStream(a *app) jsonrpc.Stream {
	return standardStream(a, &config.Config{Limits: config.DefaultLimits()})
}

func replayCommand(a *app) *cobra.Command {
	var f probeFlags
	var ignore []string
	cmd := probeCommand(a, "replay FILE TARGET", a.t("send a recording's requests again and compare the answers", "重放录制的请求并比较回答"), &f,
		func(cmd *cobra.Command, args []string) error { return replay(a, cmd, &f, ignore, args) })
	cmd.Long = a.t("Send the requests of a recording to TARGET, one after the other, and compare the answers.\nExit code 7 says that they differ.",
		"将录制的请求逐一发送给 TARGET 并比较回答。\n退出码 7 表示有差异。")
	cmd.Example = "  mcp-all-in-one replay run.mcpcap github --ignore '$..updated_at'"
	cmd.Flags().StringArrayVar(&ignore, "ignore", nil, a.t("`PATH` that is not compared: $..updated_at", "不比较的路径 `PATH`：$..updated_at"))
	return cmd
}

func replay(a *app, cmd *cobra.Command, f *probeFlags, ignore, args []string) error {
	if len(args) == 0 {
		return usageError(a, cmd, a.t("a file is missing", "缺少文件"))
	}
	capture, err := readCapture(a, args[0])
	if err != nil {
		return err
	}
	m, err := aimRest(a, cmd, f, args)
	if err != nil {
		return err
	}
	paths, err := ignoredPaths(ignore)
	if err != nil {
		return err
	}
	if f.protocol == "" {
		f.protocol = capture.Protocol()
	}
	b, err := open(cmd.Context(), a, f, m, func(o *probe.Options) { o.Answer = probe.NewReplayAnswers(capture) })
	if err != nil {
		return err
	}
	defer b.close()
	results, err := probe.Replay(b.ctx, b.Session, capture, paths, func(r probe.Replayed) {
		if a.asJSON {
			return
		}
		fmt.Fprintln(a.Stdout, r.In(a.lang))
		for _, d := range r.Differences {
			fmt.Fprintf(a.Stdout, "    %s\n", d.In(a.lang))
		}
	})
	if err != nil {
		return probeError(a, err, m)
	}
	return replayed(a, results)
}

func replayed(a *app, results []probe.Replayed) error {
	differ, sent := 0, 0
	for _, r := range results {
		if r.Skipped == "" {
			sent++
		}
		if !r.Same() {
			differ++
		}
	}
	if a.asJSON {
		writeLine(a.Stdout, map[string]any{"results": results, "sent": sent, "different": differ})
	} else {
		fmt.Fprintf(a.Stdout, a.t("%d requests, %d different\n", "%d 个请求，%d 个不同\n"), sent, differ)
	}
	if differ > 0 {
		return silent(exitDiffers)
	}
	return nil
}

func ignoredPaths(texts []string) ([]probe.JSONPath, error) {
	var paths []probe.JSONPath
	for _, text := range texts {
		p, err := probe.ParseJSONPath(text)
		if err != nil {
			return nil, fail(exitUsage, codeUsage, "", "--ignore: %v", err)
		}
		paths = append(paths, p)
	}
	return paths, nil
}
