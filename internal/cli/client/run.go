package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/clients"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/traffic"
)

func RunCommand(a *env.Env) *cobra.Command {
	f := daemon.ServeFlags{NoUI: true, NoSelfConfig: true, Port: 0}
	cmd := &cobra.Command{
		Use:   "run -- CLIENT [ARG...]",
		Short: a.T("start a client with this gateway for one session", "启动客户端，仅在本次会话中使用本网关"),
		Long: a.T("Starts a client that uses this gateway for one session, and changes no file.\nIt knows claude, codex, copilot and opencode. For any other program, {url} and {config}\nin its arguments stand for the gateway's address and for a config file with that address.\nAt the end it prints what was called.",
			"启动客户端，并仅在本次会话中接入本网关；不修改任何文件。\n支持 claude、codex、copilot 与 opencode。其他程序可在参数中使用 {url} 与 {config}，\n分别代表网关地址和含有该地址的文件。结束时输出本次调用的清单。"),
		Example: "  mcp-all-in-one run -- claude\n  mcp-all-in-one run -- my-agent --mcp-config {config}",
		Args:    command.ArgCount(a, 1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 {
				return command.UsageError(a, cmd, a.T("the client comes after --", "客户端命令写在 -- 之后"))
			}
			return runClient(cmd.Context(), a, f, args)
		},
	}
	command.AddLogFlags(&f.Log, a, cmd.Flags())
	return cmd
}

// runClient runs a client as a child process and serves it.
func runClient(ctx context.Context, a *env.Env, f daemon.ServeFlags, words []string) error {
	cfg, err := a.LoadForServe()
	if err != nil {
		return err
	}
	cfg.Server.TLS = config.TLS{}              // the client is on this machine and does not know the certificate
	f.Log.Level = cmp.Or(f.Log.Level, "error") // the terminal belongs to the client
	log, level, closeLog, err := f.Log.Open(a, cfg)
	if err != nil {
		return err
	}
	defer closeLog()
	life := instance.NewLifetime(ctx)
	defer life.Stop()
	bound, err := daemon.Bind(life.Hard, cfg, "127.0.0.1", 0, log)
	if err != nil {
		return err
	}
	in, err := instance.New(life.Hard, instance.Options{Config: cfg, Log: log, Level: level, Name: a.Personality.Name, Count: true})
	if err != nil {
		bound.Close()
		return err
	}
	daemon.NewReloader(in, a, f)
	fr, err := daemon.Serve(life.Hard, in, a, bound, f)
	if err != nil {
		in.Close(life.Hard)
		return err
	}
	begun := time.Now()
	code, err := start(ctx, a, in, words)
	life.Finish()
	receipt := in.Traffic.Stats()
	fr.Drain(life.Hard)
	in.Close(life.Hard)
	if err != nil {
		return err
	}
	printReceipt(a, receipt, time.Since(begun))
	if code != 0 {
		return env.Silent(code)
	}
	return nil
}

// start runs the client until it exits and returns its exit code.
func start(ctx context.Context, a *env.Env, in *instance.Instance, words []string) (int, error) {
	dir, err := os.MkdirTemp("", "mcp-all-in-one-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	words, variables, err := addressed(in.URL+"/mcp", dir, words)
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Stdin, env.Stream(a.Stdout), a.Stderr
	cmd.Env = append(os.Environ(), variables...)
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(exit.ExitCode(), env.ExitFailure), nil
	case err != nil:
		return 0, env.Fail(env.ExitUnreachable, env.CodeNotStarted, a.T("install the client, or write its whole path", "请安装该客户端，或写出完整路径"), "%v", err)
	}
	return 0, nil
}

// addressed adds the gateway's URL to the arguments or environment of a client,
// in the form that the client reads.
func addressed(url, dir string, words []string) (wired, env []string, err error) {
	file := filepath.Join(dir, "mcp.json")
	content := map[string]any{"mcpServers": map[string]any{clients.OwnEntry: map[string]string{"type": "http", "url": url}}}
	words = slices.Clone(words)
	switch strings.TrimSuffix(filepath.Base(words[0]), ".exe") {
	case "claude":
		words = append(words, "--mcp-config", file)
	case "codex":
		words = slices.Insert(words, 1, "-c", "mcp_servers."+clients.OwnEntry+".url="+clients.TOMLString(url))
	case "copilot":
		words = append(words, "--additional-mcp-config", "@"+file)
	case "opencode":
		content = map[string]any{"mcp": map[string]any{clients.OwnEntry: map[string]any{"type": "remote", "url": url, "enabled": true}}}
		env = []string{"OPENCODE_CONFIG=" + file}
	}
	for i := range words {
		words[i] = strings.NewReplacer("{url}", url, "{config}", file).Replace(words[i])
	}
	raw, err := json.MarshalIndent(content, "", "  ")
	if err == nil {
		err = os.WriteFile(file, raw, 0o600)
	}
	return words, append(env, "MCP_AIO_URL="+url), err
}

// printReceipt prints a summary of the client's calls to stderr.
func printReceipt(a *env.Env, stats []traffic.Stat, took time.Duration) {
	total, failed := int64(0), int64(0)
	stats = slices.DeleteFunc(stats, func(s traffic.Stat) bool { return s.Server == "" || s.Name == "" })
	for _, s := range stats {
		total += s.Calls
		failed += s.Errors
	}
	fmt.Fprintf(a.Stderr, a.T(env.Many(int(total), "%s: %d call, %d failed, %v\n", "%s: %d calls, %d failed, %v\n"), "%s：%d 次调用，%d 次失败，%v\n"), a.Personality.Name, total, failed, took.Round(time.Second))
	for _, s := range stats {
		fmt.Fprintf(a.Stderr, "  %s.%s  %d\n", s.Server, s.Name, s.Calls)
	}
}
