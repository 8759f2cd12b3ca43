package daemon

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// welcome prints the addresses of the gateway, then the state of each server
// when it has started.
func welcome(ctx context.Context, a *env.Env, in *instance.Instance, f ServeFlags, demo bool) {
	if f.Log.Silent {
		return
	}
	endpoint := cmp.Or(f.Endpoint, "/mcp")
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
	fmt.Fprintf(a.Stdout, "%s %d\n", a.T("servers ", "服务器  "), len(in.Statuses()))
	if demo {
		env.SayDemo(a, a.Stdout)
	}
	for _, view := range in.Set.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			in.Background.Go(func() { announce(ctx, a, u) })
		}
	}
}

// sayOther warns if another gateway already runs with this file. Both work, but
// neither notices the changes that the other makes.
func sayOther(ctx context.Context, a *env.Env, path string) {
	if path == "" {
		return
	}
	for _, r := range control.Gateways(ctx) {
		if r.Config == path {
			fmt.Fprintf(a.Stderr, a.T("another gateway serves the same file: %s, pid %d; each starts the servers for itself\n",
				"已有另一个网关使用同一配置文件：%s，进程 %d；两者各自启动服务器\n"), r.URL, r.PID)
		}
	}
}

// announce prints whether one server has started.
func announce(ctx context.Context, a *env.Env, u *upstream.Upstream) {
	select {
	case <-u.Settled():
	case <-ctx.Done():
		return
	}
	switch st := u.Status(); st.State {
	case upstream.Ready:
		fmt.Fprintf(a.Stdout, "✅ %s  %d %s\n", st.Name, st.Tools, a.T(env.Many(st.Tools, "tool", "tools"), "个工具"))
	case upstream.Disabled:
		fmt.Fprintf(a.Stdout, "○ %s  %s\n", st.Name, a.T("disabled", "已停用"))
	case upstream.Pending:
		fmt.Fprintf(a.Stdout, "❌ %s  %s\n", st.Name, a.T("waits for approval", "等待批准"))
	default:
		fmt.Fprintf(a.Stdout, "❌ %s  %s: %s\n", st.Name, control.StateWord(a, string(st.State)), st.Reason.In(a.Lang))
	}
}

// index describes the gateway to programs.
func (rt *router) index(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"name": rt.in.Name, "version": mcp.ProductVersion, "status": "running",
		"endpoints": map[string]string{"mcp": "/mcp", "health": "/health", "status": "/status"},
		"schemas":   rt.in.SchemasOf(access.From(r.Context())), "timestamp": time.Now().UTC().Format(time.RFC3339),
	})
}

// health reports whether all servers work. The status is always 200, because
// the gateway itself works. The overall state is public; the list of servers
// needs authentication.
func (rt *router) health(w http.ResponseWriter, r *http.Request) {
	page := map[string]any{"status": rt.in.Health()}
	if who, refused := rt.in.Access().Authenticate(r); refused == nil {
		page["timestamp"], page["uptime"] = time.Now().UTC().Format(time.RFC3339), rt.uptime().Seconds()
		page["services"] = rt.in.Services(who)
	}
	writeJSON(w, http.StatusOK, page)
}

// ready reports whether the gateway accepts new work.
func (rt *router) ready(w http.ResponseWriter, _ *http.Request) {
	if why := rt.in.Unready(); why != "" {
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": why})
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
}

func (rt *router) status(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, rt.in.StatusPage(access.From(r.Context())))
}
