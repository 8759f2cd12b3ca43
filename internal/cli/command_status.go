package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/upstream"
)

func StatusCommand(a *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: a.T("how every server is doing", "显示每个服务的状态"),
		Long: a.T("How every server is doing: asked of the running gateway, or found out by starting\nthe servers for a moment. The exit code is 4 when one of them is down.",
			"显示每个服务的状态：询问正在运行的网关；没有网关时短暂启动各服务。\n有服务不可用时退出码为 4。"),
		Args: NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), a) },
	}
}

func runStatus(ctx context.Context, a *Env) error {
	cfg, broken := a.LoadToAsk()
	page, err := staleStatus(ctx, a, broken)
	if broken == nil {
		page, err = statusOf(ctx, a, cfg)
	}
	if err != nil {
		return err
	}
	down := page.Summary.FailedServers > 0
	if a.JSON {
		WriteLine(a.Stdout, page)
	} else {
		printStatus(a, page)
	}
	if broken == nil {
		WarnUnread(a, page)
	}
	if broken != nil {
		return broken
	}
	if down {
		return Silent(ExitUnreachable)
	}
	return nil
}

// staleStatus asks the gateway that runs with a file that is broken by now;
// without one it is the error.
func staleStatus(ctx context.Context, a *Env, broken error) (*StatusPage, error) {
	r := Stale(ctx, a, broken)
	if r == nil {
		return nil, broken
	}
	fmt.Fprintln(a.Stderr, StaleNote(a, r))
	var page StatusPage
	return &page, r.Get(ctx, "/status", &page)
}

// statusOf asks the running gateway, else starts the servers for a moment.
func statusOf(ctx context.Context, a *Env, cfg *config.Config) (*StatusPage, error) {
	var page StatusPage
	if r := Running(ctx, a, cfg.Path); r != nil {
		return &page, r.Get(ctx, "/status", &page)
	}
	in, err := New(ctx, Options{Config: cfg, Log: slog.New(slog.DiscardHandler), Name: a.Personality.Name, SelfConfig: true, Load: a.LoadOptions(false)})
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, cfg.StartWait)
	defer cancel()
	in.Settled(wait)
	page = in.StatusPage(access.Owner)
	page.Server.Status = "not running"
	end, cancelEnd := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancelEnd()
	in.Close(end)
	return &page, nil
}

// Settled waits until every server has answered or failed once.
func (in *Instance) Settled(ctx context.Context) {
	for _, view := range in.Set.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			select {
			case <-u.Settled():
			case <-ctx.Done():
				return
			}
		}
	}
}

func printStatus(a *Env, page *StatusPage) {
	if IsTerminal(a.Stdout) {
		if page.Server.URL != "" {
			fmt.Fprintf(a.Stdout, "%s %s  %s %s\n\n", a.T("running at", "运行于"), page.Server.URL, a.T("for", "已运行"), page.Server.Uptime)
		} else {
			fmt.Fprintf(a.Stdout, "%s\n\n", a.T("no gateway is running; the servers were started for a moment", "没有网关在运行；已短暂启动各服务"))
		}
	}
	t := &Table{
		Head: []string{a.T("SERVER", "服务"), a.T("STATE", "状态"), a.T("TYPE", "类型"), a.T("TOOLS", "工具"), a.T("PROTOCOL", "协议"), "PID", a.T("REASON", "原因")},
		Paint: func(column int, cell string) Colour {
			if column != 1 {
				return ""
			}
			return StateColours[upstream.State(cell)]
		},
		Word: StateIn(a, 1),
	}
	for _, name := range SortedKeys(page.Schemas) {
		for _, s := range page.Schemas[name].Servers {
			pid := ""
			if s.PID > 0 {
				pid = fmt.Sprint(s.PID)
			}
			t.Add(ServerLabel(a, page, name, s.Name), string(s.Status), s.Type, fmt.Sprint(s.ToolCount), s.Protocol, pid, a.T(s.Error, s.ErrorZH))
		}
	}
	a.Print(t)
}

// StateIn says the states of one column of a table in the user's language.
func StateIn(a *Env, column int) func(int, string) string {
	return func(n int, cell string) string {
		if n != column {
			return cell
		}
		return StateWord(a, cell)
	}
}

// ServerLabel names a server, with its schema where there are several.
func ServerLabel(a *Env, page *StatusPage, schema, name string) string {
	if len(page.Schemas) > 1 {
		return schema + "/" + name
	}
	return name
}

var StateColours = map[upstream.State]Colour{
	upstream.Ready: Green, upstream.Starting: Yellow, upstream.Restarting: Yellow, upstream.Pending: Yellow,
	upstream.Failed: Red, upstream.CrashLooping: Red, upstream.SignIn: Red, upstream.Unconfigured: Red, upstream.Disabled: Dim,
}

// listServers lists what is configured, with what a running gateway knows
// about it. It starts nothing.
func listServers(ctx context.Context, a *Env, f *Flags) error {
	cfg, err := a.LoadToAsk()
	if err != nil {
		return err
	}
	states := map[string]string{}
	if r := Running(ctx, a, cfg.Path); r != nil {
		var page StatusPage
		if err := r.Get(ctx, "/status", &page); err != nil {
			return err
		}
		WarnUnread(a, &page)
		for schema, v := range page.Schemas {
			for _, s := range v.Servers {
				states[schema+"/"+s.Name] = string(s.Status)
			}
		}
	}
	rows := ConfiguredServers(cfg, states)
	if f.Structured(a) {
		raw, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		return PrintResult(a, &f.OutputFlags, raw, "")
	}
	t := &Table{Head: []string{"SCHEMA", a.T("SERVER", "服务"), a.T("STATE", "状态"), a.T("TYPE", "类型"), a.T("TARGET", "目标")}, Word: StateIn(a, 2)}
	for _, s := range rows {
		t.Add(s.Schema, s.Name, s.State, s.Type, s.Target)
	}
	a.Print(t)
	return nil
}

// stateConfigured is that of a server of which no gateway knows more.
const stateConfigured = "configured"

// A configured is one server in the list of them.
type configured struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	State  string `json:"state"`
	Type   string `json:"type"`
	Target string `json:"target"`
}

func ConfiguredServers(cfg *config.Config, states map[string]string) []configured {
	rows := []configured{}
	for _, schema := range cfg.Schemas {
		for _, s := range schema.Servers {
			row := configured{Schema: schema.Name, Name: s.Name, Type: s.Type, State: stateConfigured, Target: TargetOf(s)}
			switch state := states[s.ID()]; {
			case state != "":
				row.State = state
			case !s.Enabled || !schema.Enabled:
				row.State = string(upstream.Disabled)
			case s.Pending:
				row.State = string(upstream.Pending)
			case len(s.Missing) > 0:
				row.State = string(upstream.Unconfigured)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// TargetOf is what a server runs or dials, as one would type it.
func TargetOf(s *config.Server) string {
	if s.URL != "" {
		return s.URL
	}
	return ShellLine(append([]string{s.Command}, slices.Clone(s.Args)...))
}
