package test

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/record"
)

func RecordCommand(a *env.Env) *cobra.Command {
	var f target.Flags
	cmd := target.NewCommand(a, "record FILE TARGET", a.T("record the messages between a client on stdio and a server", "录制 stdio 客户端与服务器之间的消息"), &f,
		func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
				return command.UsageError(a, cmd, a.T("a file is missing", "缺少文件"))
			}
			return recordSession(a, cmd, &f, args)
		})
	cmd.Long = a.T("Serves one client over standard input and output, passes all messages on to TARGET, and records them.\nPut this command into a client's configuration to record what the client does.",
		"通过标准输入输出服务一个客户端，把所有消息转发给 TARGET 并录制。\n可写入客户端配置，以录制客户端的行为。")
	cmd.Example = "  mcp-all-in-one record run.mcpcap -- npx -y @modelcontextprotocol/server-everything\n  mcp-all-in-one record run.mcpcap github"
	return cmd
}

func recordSession(a *env.Env, cmd *cobra.Command, f *target.Flags, args []string) error {
	file := args[0]
	m, err := targetRest(a, cmd, f, args)
	if err != nil {
		return err
	}
	f.Trace = file
	b := &target.Connection{Env: a, To: m, Flags: f}
	b.Ctx = b.Interruptible(cmd.Context())
	defer b.End()
	launcher, err := instance.NewLauncher()
	if err != nil {
		return err
	}
	b.OnClose(func() { launcher.Close() })
	opt := probe.Options{Launcher: launcher}
	if err := b.Route(&opt); err != nil {
		return err
	}
	if err := b.Watch(&opt); err != nil {
		return err
	}
	return target.Failed(a, probe.Relay(b.Ctx, plainStream(a), m.Probe, opt), m)
}

// plainStream returns the stream over our stdin and stdout.
func plainStream(a *env.Env) jsonrpc.Stream {
	return daemon.StandardStream(a, &config.Config{Limits: config.DefaultLimits()})
}

func ReplayCommand(a *env.Env) *cobra.Command {
	var f target.Flags
	var ignore []string
	cmd := target.NewCommand(a, "replay FILE TARGET", a.T("send the requests of a recording again and compare the answers", "重放录制的请求并比较回答"), &f,
		func(cmd *cobra.Command, args []string) error { return replay(a, cmd, &f, ignore, args) })
	cmd.Long = a.T("Sends the requests of a recording to TARGET, one after the other, and compares the answers.\nExit code 7 says that they differ.",
		"将录制的请求逐一发送给 TARGET 并比较回答。\n退出码 7 表示有差异。")
	cmd.Example = "  mcp-all-in-one replay run.mcpcap github --ignore '..|.updated_at?'"
	cmd.Flags().StringArrayVar(&ignore, "ignore", nil, a.T("`PATH` that is not compared: ..|.updated_at?", "不比较的路径 `PATH`：..|.updated_at?"))
	return cmd
}

func replay(a *env.Env, cmd *cobra.Command, f *target.Flags, ignore, args []string) error {
	if len(args) == 0 {
		return command.UsageError(a, cmd, a.T("a file is missing", "缺少文件"))
	}
	capture, err := readCapture(a, args[0])
	if err != nil {
		return err
	}
	m, err := targetRest(a, cmd, f, args)
	if err != nil {
		return err
	}
	paths, err := ignoredPaths(ignore)
	if err != nil {
		return err
	}
	f.Protocol = cmp.Or(f.Protocol, capture.Protocol())
	b, err := target.Open(cmd.Context(), a, f, m, func(o *probe.Options) { o.Answer = record.NewReplayAnswers(capture) })
	if err != nil {
		return err
	}
	defer b.End()
	results, err := record.Replay(b.Ctx, b.Session, capture, paths, func(r record.Replayed) {
		if a.JSON {
			return
		}
		fmt.Fprintln(a.Stdout, r.In(a.Lang))
		for _, d := range r.Differences {
			fmt.Fprintf(a.Stdout, "    %s\n", d.In(a.Lang))
		}
	})
	if err != nil {
		return target.Failed(a, err, m)
	}
	return replayed(a, results)
}

func replayed(a *env.Env, results []record.Replayed) error {
	differ, sent := 0, 0
	for _, r := range results {
		if r.Skipped == "" {
			sent++
		}
		if !r.Same() {
			differ++
		}
	}
	if !env.ShowJSON(a, map[string]any{"results": results, "sent": sent, "different": differ}) {
		fmt.Fprintf(a.Stdout, a.T(env.Many(sent, "%d request, %d different\n", "%d requests, %d different\n"), "%d 个请求，%d 个不同\n"), sent, differ)
	}
	if differ > 0 {
		return env.Silent(env.ExitDiffers)
	}
	return nil
}

func ignoredPaths(texts []string) ([]probe.Places, error) {
	var paths []probe.Places
	for _, text := range texts {
		p, err := probe.ParsePlaces(text)
		if err != nil {
			return nil, env.Fail(env.ExitUsage, env.CodeUsage, "", "--ignore: %v", err)
		}
		paths = append(paths, p)
	}
	return paths, nil
}
