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

// WantsDemo says whether a gateway without any server gets the demo server.
func (a *Env) WantsDemo() bool {
	return a.Personality.Own || a.Personality.Config == config.MCPTester
}

// DemoServer is the name of the server that stands in where none is configured.
const DemoServer = "demo"

// AddDemo gives a gateway without any server something to show.
func AddDemo(cfg *config.Config) bool {
	exe, err := os.Executable()
	if err != nil || HasServers(cfg) {
		return false
	}
	server := config.NewServer(DemoServer)
	server.Schema, server.Type, server.Command, server.Args = config.DefaultSchema, config.TypeStdio, exe, []string{"demo"}
	schema := cfg.Schema(config.DefaultSchema)
	if schema == nil {
		schema = config.NewSchema(config.DefaultSchema)
		cfg.Schemas = append(cfg.Schemas, schema)
	}
	schema.Servers = append(schema.Servers, server)
	return true
}

func HasServers(cfg *config.Config) bool {
	return slices.ContainsFunc(cfg.Schemas, func(s *config.Schema) bool { return len(s.Servers) > 0 })
}

// ShowsDemo says whether a gateway that runs with our file has only the demo
// server to show.
func ShowsDemo(a *Env) bool {
	cfg, err := a.Load(false)
	var missing *config.LoadError
	return a.WantsDemo() && (err == nil && !HasServers(cfg) || errors.As(err, &missing) && missing.Has("AIO2001"))
}

// welcome tells a person where everything is, then how each server came up.
func welcome(ctx context.Context, a *Env, in *Instance, f ServeFlags, demo bool) {
	if f.Log.Silent {
		return
	}
	endpoint := f.Endpoint
	if endpoint == "" {
		endpoint = "/mcp"
	}
	fmt.Fprintf(a.Stdout, "%s %s\n", a.T("endpoint", "端点  "), in.URL+endpoint)
	if len(in.Config.Schemas) > 1 {
		for _, name := range in.Gateway.SchemaNames() {
			fmt.Fprintf(a.Stdout, "%s %s\n", a.T("schema  ", "schema"), in.URL+"/api/"+name+"/mcp")
		}
	}
	if in.Console {
		fmt.Fprintf(a.Stdout, "%s %s\n", a.T("console ", "控制台"), in.URL+"/ui/")
	}
	fmt.Fprintf(a.Stdout, "%s %s\n", a.T("config  ", "配置  "), in.Config.Path)
	fmt.Fprintf(a.Stdout, "%s %d\n", a.T("servers ", "服务  "), len(in.Statuses()))
	if demo {
		fmt.Fprintln(a.Stdout, a.T("no server is configured, so a demo server is shown; add one with: mcp-all-in-one add NAME -- COMMAND",
			"尚未配置服务，已启用演示服务；添加服务：mcp-all-in-one add NAME -- COMMAND"))
	}
	for _, view := range in.Set.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			in.Background.Go(func() { announce(ctx, a, u) })
		}
	}
}

// sayOther says that a gateway of this file runs already: both work, but a
// change that one of them makes is not known to the other.
func sayOther(ctx context.Context, a *Env, path string) {
	if path == "" {
		return
	}
	for _, r := range Gateways(ctx) {
		if r.Config == path {
			fmt.Fprintf(a.Stderr, a.T("another gateway serves the same file: %s, pid %d; each starts the servers for itself\n",
				"已有另一个网关使用同一配置文件：%s，进程 %d；两者各自启动服务\n"), r.URL, r.PID)
		}
	}
}

// announce says how one server came up.
func announce(ctx context.Context, a *Env, u *upstream.Upstream) {
	select {
	case <-u.Settled():
	case <-ctx.Done():
		return
	}
	switch st := u.Status(); st.State {
	case upstream.Ready:
		fmt.Fprintf(a.Stdout, "✅ %s  %d %s\n", st.Name, st.Tools, a.T("tools", "个工具"))
	case upstream.Disabled:
		fmt.Fprintf(a.Stdout, "○ %s  %s\n", st.Name, a.T("disabled", "已停用"))
	case upstream.Pending:
		fmt.Fprintf(a.Stdout, "❌ %s  %s\n", st.Name, a.T("waits for approval", "等待批准"))
	default:
		fmt.Fprintf(a.Stdout, "❌ %s  %s: %s\n", st.Name, StateWord(a, string(st.State)), st.Reason.In(a.Lang))
	}
}

// StateWord is what a person reads for the state of a server; scripts get the
// state itself.
func StateWord(a *Env, state string) string {
	return a.T(state, cmp.Or(statesZH[upstream.State(state)], state))
}

var statesZH = map[upstream.State]string{
	stateConfigured: "已配置", upstream.Ready: "就绪", upstream.Disabled: "已停用",
	upstream.Starting: "启动中", upstream.Restarting: "重启中", upstream.Failed: "失败", upstream.CrashLooping: "反复崩溃",
	upstream.SignIn: "需要登录", upstream.Stopped: "已停止", upstream.Pending: "等待批准", upstream.Unconfigured: "缺少配置",
}
