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

func statusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: a.t("how every server is doing", "显示每个服务的状态"),
		Long: a.t("How every server is doing: asked of the running gateway, or found out by starting\nthe servers for a moment. The exit code is 4 when one of them is down.",
			"显示每个服务的状态：询问正在运行的网关；没有网关时短暂启动各服务。\n有服务不可用时退出码为 4。"),
		Args: noArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), a) },
	}
}

func runStatus(ctx context.Context, a *app) error {
	cfg, broken := a.loadToAsk()
	page, err := staleStatus(ctx, a, broken)
	if broken == nil {
		page, err = statusOf(ctx, a, cfg)
	}
	if err != nil {
		return err
	}
	down := page.Summary.FailedServers > 0
	if a.asJSON {
		writeLine(a.Stdout, page)
	} else {
		printStatus(a, page)
	}
	if broken == nil {
		warnUnread(a, page)
	}
	if broken != nil {
		return broken
	}
	if down {
		return silent(exitUnreachable)
	}
	return nil
}

// staleStatus asks the gateway that runs with a file that is broken by now;
// without one it is the error.
func staleStatus(ctx context.Context, a *app, broken error) (*statusPage, error) {
	r := stale(ctx, a, broken)
	if r == nil {
		return nil, broken
	}
	fmt.Fprintln(a.Stderr, staleNote(a, r))
	var page statusPage
	return &page, r.get(ctx, "/status", &page)
}

// statusOf asks the running gateway, else starts the servers for a moment.
func statusOf(ctx context.Context, a *app, cfg *config.Config) (*statusPage, error) {
	var page statusPage
	if r := running(ctx, a, cfg.Path); r != nil {
		return &page, r.get(ctx, "/status", &page)
	}
	in, err := newInstance(ctx, instanceOptions{cfg: cfg, log: slog.New(slog.DiscardHandler), name: a.personality.name, selfConfig: true, load: a.loadOptions(false)})
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, cfg.StartWait)
	defer cancel()
	in.settled(wait)
	page = in.statusPage(access.Owner)
	page.Server.Status = "not running"
	end, cancelEnd := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancelEnd()
	in.close(end)
	return &page, nil
}

// settled waits until every server has answered or failed once.
func (in *instance) settled(ctx context.Context) {
	for _, view := range in.set.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			select {
			case <-u.Settled():
			case <-ctx.Done():
				return
			}
		}
	}
}

func printStatus(a *app, page *statusPage) {
	if isTerminal(a.Stdout) {
		if page.Server.URL != "" {
			fmt.Fprintf(a.Stdout, "%s %s  %s %s\n\n", a.t("running at", "运行于"), page.Server.URL, a.t("for", "已运行"), page.Server.Uptime)
		} else {
			fmt.Fprintf(a.Stdout, "%s\n\n", a.t("no gateway is running; the servers were started for a moment", "没有网关在运行；已短暂启动各服务"))
		}
	}
	t := &table{
		head: []string{a.t("SERVER", "服务"), a.t("STATE", "状态"), a.t("TYPE", "类型"), a.t("TOOLS", "工具"), a.t("PROTOCOL", "协议"), "PID", a.t("REASON", "原因")},
		paint: func(column int, cell string) colour {
			if column != 1 {
				return ""
			}
			return stateColours[upstream.State(cell)]
		},
		word: stateIn(a, 1),
	}
	for _, name := range sortedKeys(page.Schemas) {
		for _, s := range page.Schemas[name].Servers {
			pid := ""
			if s.PID > 0 {
				pid = fmt.Sprint(s.PID)
			}
			t.add(serverLabel(a, page, name, s.Name), string(s.Status), s.Type, fmt.Sprint(s.ToolCount), s.Protocol, pid, a.t(s.Error, s.ErrorZH))
		}
	}
	a.print(t)
}

// stateIn says the states of one column of a table in the user's language.
func stateIn(a *app, column int) func(int, string) string {
	return func(n int, cell string) string {
		if n != column {
			return cell
		}
		return stateWord(a, cell)
	}
}

// serverLabel names a server, with its schema where there are several.
func serverLabel(a *app, page *statusPage, schema, name string) string {
	if len(page.Schemas) > 1 {
		return schema + "/" + name
	}
	return name
}

var stateColours = map[upstream.State]colour{
	upstream.Ready: green, upstream.Starting: yellow, upstream.Restarting: yellow, upstream.Pending: yellow,
	upstream.Failed: red, upstream.CrashLooping: red, upstream.SignIn: red, upstream.Unconfigured: red, upstream.Disabled: dim,
}

// listServers lists what is configured, with what a running gateway knows
// about it. It starts nothing.
func listServers(ctx context.Context, a *app, f *probeFlags) error {
	cfg, err := a.loadToAsk()
	if err != nil {
		return err
	}
	states := map[string]string{}
	if r := running(ctx, a, cfg.Path); r != nil {
		var page statusPage
		if err := r.get(ctx, "/status", &page); err != nil {
			return err
		}
		warnUnread(a, &page)
		for schema, v := range page.Schemas {
			for _, s := range v.Servers {
				states[schema+"/"+s.Name] = string(s.Status)
			}
		}
	}
	rows := configuredServers(cfg, states)
	if f.structured(a) {
		raw, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		return printResult(a, &f.outputFlags, raw, "")
	}
	t := &table{head: []string{"SCHEMA", a.t("SERVER", "服务"), a.t("STATE", "状态"), a.t("TYPE", "类型"), a.t("TARGET", "目标")}, word: stateIn(a, 2)}
	for _, s := range rows {
		t.add(s.Schema, s.Name, s.State, s.Type, s.Target)
	}
	a.print(t)
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

func configuredServers(cfg *config.Config, states map[string]string) []configured {
	rows := []configured{}
	for _, schema := range cfg.Schemas {
		for _, s := range schema.Servers {
			row := configured{Schema: schema.Name, Name: s.Name, Type: s.Type, State: stateConfigured, Target: targetOf(s)}
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

// targetOf is what a server runs or dials, as one would type it.
func targetOf(s *config.Server) string {
	if s.URL != "" {
		return s.URL
	}
	return shellLine(append([]string{s.Command}, slices.Clone(s.Args)...))
}
