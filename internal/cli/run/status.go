package run

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/upstream"
)

func StatusCommand(a *env.Env) *cobra.Command {
	running := false
	cmd := &cobra.Command{
		Use:   "status",
		Short: a.T("show the state of every server", "显示每个服务器的状态"),
		Long: a.T("Shows the state of every server. It asks the running gateway; without one it starts\nthe servers for a moment. The exit code is 4 if a server is down.",
			"显示每个服务器的状态：询问正在运行的网关；没有网关时短暂启动各服务器。\n有服务器不可用时退出码为 4。"),
		Args: command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if running {
				_, err := control.RunningHere(cmd.Context(), a)
				return err
			}
			return runStatus(cmd.Context(), a)
		},
	}
	cmd.Flags().BoolVar(&running, "running", false, a.T("only check whether a gateway runs and answers, for health checks: the exit code is 0 or 4",
		"只检查网关是否在运行并应答，用于健康检查：退出码为 0 或 4"))
	return cmd
}

func runStatus(ctx context.Context, a *env.Env) error {
	cfg, broken := a.LoadToAsk()
	page, err := staleStatus(ctx, a, broken)
	if broken == nil {
		page, err = statusOf(ctx, a, cfg)
	}
	if err != nil {
		return err
	}
	down := page.Summary.FailedServers > 0
	if !env.ShowJSON(a, page) {
		printStatus(a, page)
	}
	if broken == nil {
		control.WarnUnread(a, page)
	}
	if broken != nil {
		return broken
	}
	if down {
		return env.Silent(env.ExitUnreachable)
	}
	return nil
}

// staleStatus returns the status of a gateway that still runs although its
// config file is broken now. If none runs, it returns the error.
func staleStatus(ctx context.Context, a *env.Env, broken error) (*control.StatusPage, error) {
	r := control.Stale(ctx, a, broken)
	if r == nil {
		return nil, broken
	}
	fmt.Fprintln(a.Stderr, control.StaleNote(a, r))
	var page control.StatusPage
	return &page, r.Get(ctx, "/status", &page)
}

// statusOf returns the status of the running gateway. If none runs, it starts
// the servers temporarily.
func statusOf(ctx context.Context, a *env.Env, cfg *config.Config) (*control.StatusPage, error) {
	var page control.StatusPage
	if r := control.Running(ctx, a, cfg.Path); r != nil {
		return &page, r.Get(ctx, "/status", &page)
	}
	in, err := instance.New(ctx, instance.Options{Config: cfg, Log: slog.New(slog.DiscardHandler), Name: a.Personality.Name, SelfConfig: true, Load: a.LoadOptions(false)})
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, cfg.StartWait)
	defer cancel()
	in.Settled(wait)
	page = in.StatusPage(access.Owner)
	page.Server.Status = "not running"
	for _, schema := range page.Schemas {
		for i := range schema.Servers {
			// One that failed is being tried again, which this command does not wait for.
			if row := &schema.Servers[i]; row.Status == upstream.Starting && row.StartingFor == "" {
				row.Status = upstream.Failed
			}
		}
	}
	end, cancelEnd := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancelEnd()
	in.Close(end)
	return &page, nil
}

func printStatus(a *env.Env, page *control.StatusPage) {
	if env.IsTerminal(a.Stdout) {
		if page.Server.URL != "" {
			fmt.Fprintf(a.Stdout, "%s %s  %s %s\n\n", a.T("running at", "运行于"), page.Server.URL, a.T("for", "已运行"), page.Server.Uptime)
		} else {
			fmt.Fprintf(a.Stdout, "%s\n\n", a.T("no gateway is running; the servers were started for a moment", "没有网关在运行；已短暂启动各服务器"))
		}
	}
	t := &env.Table{
		Head: []string{a.T("SERVER", "服务器"), a.T("STATE", "状态"), a.T("TYPE", "类型"), a.T("TOOLS", "工具"), a.T("PROTOCOL", "协议"), "PID", a.T("REASON", "原因")},
		Paint: func(column int, cell string) env.Colour {
			if column != 1 {
				return ""
			}
			return control.StateColours[upstream.State(cell)]
		},
		Word: control.StateIn(a, 1),
	}
	for _, name := range env.SortedKeys(page.Schemas) {
		for _, s := range page.Schemas[name].Servers {
			pid := ""
			if s.PID > 0 {
				pid = fmt.Sprint(s.PID)
			}
			kind := s.Type
			if s.Sandbox != "" {
				kind += a.T(" (confined: ", "（已隔离：") + s.Sandbox + a.T(")", "）")
			}
			if s.Replica != "" {
				kind += a.T(" (on ", "（位于 ") + s.Replica + a.T(")", "）")
			}
			t.Add(control.ServerLabel(a, page, name, s.Name), string(s.Status), kind, fmt.Sprint(s.ToolCount), s.Protocol, pid, a.T(s.Error, s.ErrorZH))
		}
	}
	a.Print(t)
	for _, name := range env.SortedKeys(page.Schemas) {
		if r := page.Schemas[name].Receipt; r != nil {
			printLarge(a, "", r)
		}
	}
}

func UICommand(a *env.Env) *cobra.Command {
	var stay bool
	cmd := &cobra.Command{
		Use:   "ui",
		Short: a.T("open the console of the running gateway in the browser", "在浏览器中打开正在运行的网关的控制台"),
		Args:  command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := control.RunningHere(cmd.Context(), a)
			if err != nil {
				return err
			}
			if !r.Console {
				return env.Fail(env.ExitFailure, env.CodeNoConsole, a.T("start it without --no-ui", "启动时不要使用 --no-ui"),
					"%s", a.T("the gateway runs without its console", "网关没有提供控制台"))
			}
			var answer struct {
				URL string `json:"url"`
			}
			if err := r.Post(cmd.Context(), "/code", nil, &answer); err != nil {
				return err
			}
			if stay {
				fmt.Fprintln(a.Stdout, answer.URL)
				return nil
			}
			env.OpenConsole(a, answer.URL)
			return nil
		},
	}
	cmd.Flags().BoolVar(&stay, "print", false, a.T("print the address instead of opening it", "只输出地址，不打开"))
	return cmd
}
