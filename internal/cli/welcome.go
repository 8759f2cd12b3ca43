package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/upstream"
)

// wantsDemo says whether a gateway without any server gets the demo server.
func (a *app) wantsDemo() bool {
	return a.personality.own || a.personality.config == config.MCPTester
}

// demoServer is the name of the server that stands in where none is configured.
const demoServer = "demo"

// addDemo gives a gateway without any server something to show.
func addDemo(cfg *config.Config) bool {
	exe, err := os.Executable()
	if err != nil || hasServers(cfg) {
		return false
	}
	server := config.NewServer(demoServer)
	server.Schema, server.Type, server.Command, server.Args = config.DefaultSchema, config.TypeStdio, exe, []string{"demo"}
	schema := cfg.Schema(config.DefaultSchema)
	if schema == nil {
		schema = config.NewSchema(config.DefaultSchema)
		cfg.Schemas = append(cfg.Schemas, schema)
	}
	schema.Servers = append(schema.Servers, server)
	return true
}

func hasServers(cfg *config.Config) bool {
	return slices.ContainsFunc(cfg.Schemas, func(s *config.Schema) bool { return len(s.Servers) > 0 })
}

// showsDemo says whether a gateway that runs with our file has only the demo
// server to show.
func showsDemo(a *app) bool {
	cfg, err := a.load(false)
	var missing *config.LoadError
	return a.wantsDemo() && (err == nil && !hasServers(cfg) || errors.As(err, &missing) && missing.Has("AIO2001"))
}

// welcome tells a person where everything is, then how each server came up.
func welcome(ctx context.Context, a *app, in *instance, f serveFlags, demo bool) {
	if f.log.silent {
		return
	}
	endpoint := f.endpoint
	if endpoint == "" {
		endpoint = "/mcp"
	}
	fmt.Fprintf(a.Stdout, "%s %s\n", a.t("endpoint", "端点  "), in.url+endpoint)
	if len(in.cfg.Schemas) > 1 {
		for _, name := range in.gateway.SchemaNames() {
			fmt.Fprintf(a.Stdout, "%s %s\n", a.t("schema  ", "schema"), in.url+"/api/"+name+"/mcp")
		}
	}
	if in.console {
		fmt.Fprintf(a.Stdout, "%s %s\n", a.t("console ", "控制台"), in.url+"/ui/")
	}
	fmt.Fprintf(a.Stdout, "%s %s\n", a.t("config  ", "配置  "), in.cfg.Path)
	fmt.Fprintf(a.Stdout, "%s %d\n", a.t("servers ", "服务  "), len(in.statuses()))
	if demo {
		fmt.Fprintln(a.Stdout, a.t("no server is configured, so a demo server is shown; add one with: mcp-all-in-one add NAME -- COMMAND",
			"尚未配置服务，已启用演示服务；添加服务：mcp-all-in-one add NAME -- COMMAND"))
	}
	for _, view := range in.set.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			in.wg.Go(func() { announce(ctx, a, u) })
		}
	}
}

// sayOther says that a gateway of this file runs already: both work, but a
// change that one of them makes is not known to the other.
func sayOther(ctx context.Context, a *app, path string) {
	if path == "" {
		return
	}
	for _, r := range gateways(ctx) {
		if r.Config == path {
			fmt.Fprintf(a.Stderr, a.t("another gateway serves the same file: %s, pid %d; each starts the servers for itself\n",
				"已有另一个网关使用同一配置文件：%s，进程 %d；两者各自启动服务\n"), r.URL, r.PID)
		}
	}
}

// announce says how one server came up.
func announce(ctx context.Context, a *app, u *upstream.Upstream) {
	select {
	case <-u.Settled():
	case <-ctx.Done():
		return
	}
	switch st := u.Status(); st.State {
	case upstream.Ready:
		fmt.Fprintf(a.Stdout, "✅ %s  %d %s\n", st.Name, st.Tools, a.t("tools", "个工具"))
	case upstream.Disabled:
		fmt.Fprintf(a.Stdout, "○ %s  %s\n", st.Name, a.t("disabled", "已停用"))
	case upstream.Pending:
		fmt.Fprintf(a.Stdout, "❌ %s  %s\n", st.Name, a.t("waits for approval", "等待批准"))
	default:
		fmt.Fprintf(a.Stdout, "❌ %s  %s: %s\n", st.Name, stateWord(a, string(st.State)), st.Reason.In(a.lang))
	}
}

// stateWord is what a person reads for the state of a server; scripts get the
// state itself.
func stateWord(a *app, state string) string {
	return a.t(state, cmp.Or(statesZH[upstream.State(state)], state))
}

var statesZH = map[upstream.State]string{
	stateConfigured: "已配置", upstream.Ready: "就绪", upstream.Disabled: "已停用",
	upstream.Starting: "启动中", upstream.Restarting: "重启中", upstream.Failed: "失败", upstream.CrashLooping: "反复崩溃",
	upstream.SignIn: "需要登录", upstream.Stopped: "已停止", upstream.Pending: "等待批准", upstream.Unconfigured: "缺少配置",
}
