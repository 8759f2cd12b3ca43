package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
)

func (a *app) recordCommand() *cobra.Command {
	var f probeFlags
	cmd := a.probeCommand("record FILE TARGET", a.t("stand between a client on stdio and a server, and record what they say", "置于 stdio 客户端与服务之间，录制双方的消息"), &f,
		func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
				return a.usageError(cmd, a.t("a file is missing", "缺少文件"))
			}
			return a.record(cmd, &f, args)
		})
	cmd.Long = a.t("Serve one client over standard input and output, pass everything on to TARGET, and record it.\nPut this command into a client's configuration to record what the client does.",
		"通过标准输入输出服务一个客户端，将一切转发给 TARGET 并录制。\n可写入客户端配置，以录制客户端的行为。")
	cmd.Example = "  mcp-all-in-one record run.mcpcap -- npx -y @modelcontextprotocol/server-everything\n  mcp-all-in-one record run.mcpcap github"
	return cmd
}

func (a *app) record(cmd *cobra.Command, f *probeFlags, args []string) error {
	file := args[0]
	m, err := a.aimRest(cmd, f, args)
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
	return a.probeError(probe.Relay(b.ctx, a.plainStream(), m.target, opt), m)
}

// plainStream is the stream over our standard input and output.
func (a *app) plainStream() jsonrpc.Stream {
	return a.standardStream(&config.Config{Limits: config.DefaultLimits()})
}

func (a *app) replayCommand() *cobra.Command {
	var f probeFlags
	var ignore []string
	cmd := a.probeCommand("replay FILE TARGET", a.t("send a recording's requests again and compare the answers", "重放录制的请求并比较回答"), &f,
		func(cmd *cobra.Command, args []string) error { return a.replay(cmd, &f, ignore, args) })
	cmd.Long = a.t("Send the requests of a recording to TARGET, one after the other, and compare the answers.\nExit code 7 says that they differ.",
		"将录制的请求逐一发送给 TARGET 并比较回答。\n退出码 7 表示有差异。")
	cmd.Example = "  mcp-all-in-one replay run.mcpcap github --ignore '..|.updated_at?'"
	cmd.Flags().StringArrayVar(&ignore, "ignore", nil, a.t("`PATH` that is not compared: ..|.updated_at?", "不比较的路径 `PATH`：..|.updated_at?"))
	return cmd
}

func (a *app) replay(cmd *cobra.Command, f *probeFlags, ignore, args []string) error {
	if len(args) == 0 {
		return a.usageError(cmd, a.t("a file is missing", "缺少文件"))
	}
	capture, err := a.readCapture(args[0])
	if err != nil {
		return err
	}
	m, err := a.aimRest(cmd, f, args)
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
	b, err := a.open(cmd.Context(), f, m, func(o *probe.Options) { o.Answer = probe.NewReplayAnswers(capture) })
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
		return a.probeError(err, m)
	}
	return a.replayed(results)
}

func (a *app) replayed(results []probe.Replayed) error {
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

func ignoredPaths(texts []string) ([]probe.Places, error) {
	var paths []probe.Places
	for _, text := range texts {
		p, err := probe.ParsePlaces(text)
		if err != nil {
			return nil, fail(exitUsage, codeUsage, "", "--ignore: %v", err)
		}
		paths = append(paths, p)
	}
	return paths, nil
}
