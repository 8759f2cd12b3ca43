package target

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/traffic"
)

// measureRemote returns a function that reads timings from the traffic record
// of a running gateway.
func measureRemote(ctx context.Context, r *control.Remote) func(method string, began time.Time) (probe.Measurement, bool) {
	return func(method string, began time.Time) (probe.Measurement, bool) {
		var page struct{ Calls []traffic.Call }
		path := fmt.Sprintf("/api/v1/traffic?limit=%d&q=%s", instance.RecentCalls, url.QueryEscape("method:"+method))
		if r.Get(ctx, path, &page) != nil {
			return probe.Measurement{}, false // a gateway without the console has no record to read
		}
		return instance.Measured(page.Calls, method, began)
	}
}

// reuse returns a running gateway that can serve the target: always for the
// merged view, and for one server if nothing on the command line requires a
// separate connection.
func (b *Connection) reuse() *control.Remote {
	m, f := b.To, b.Flags
	if m.via != nil {
		return m.via
	}
	if m.cfg == nil || f.Direct {
		return nil
	}
	own := m.Server != nil && f.Protocol != m.Server.Protocol || f.ownConnection()
	if !m.merged && (!f.Shared || own) {
		return nil
	}
	return control.Running(b.Ctx, b.Env, m.cfg.Path)
}

// ownConnection reports whether the command line needs more than a shared
// connection provides.
func (f *Flags) ownConnection() bool {
	return f.cwd != "" || len(f.Env)+len(f.Headers)+len(f.caps) > 0
}

// through makes a running gateway the target.
func (b *Connection) through(r *control.Remote, opt *probe.Options) {
	secrets := b.To.Probe.Secrets // responses may contain the secrets of the entry
	b.To.Probe = probe.Target{Name: b.To.Label, URL: endpointOf(r, b.To), Type: config.TypeHTTP, Socket: r.Socket, Secrets: secrets}
	opt.Measure = measureRemote(b.Ctx, r)
}

// endpointOf returns the URL of the target on the socket of a running gateway.
func endpointOf(r *control.Remote, m *Target) string {
	const base = "http://localhost"
	switch {
	case m.like != nil:
		return base + "/as/" + url.PathEscape(m.like.Session)
	case m.Server != nil:
		return base + "/mcp/" + url.PathEscape(m.schema) + "/" + url.PathEscape(m.Server.Name)
	}
	return base + "/mcp/" + url.PathEscape(m.schema)
}

// Gateway returns the running gateway that has the target; nil if there is none
// or the command line requires a separate connection.
func (m *Target) Gateway(ctx context.Context, a *env.Env, f *Flags) *control.Remote {
	return (&Connection{Env: a, To: m, Flags: f, Ctx: ctx}).reuse()
}
