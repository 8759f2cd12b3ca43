package cli

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/traffic"
)

// Measured is what a gateway's record says about the newest call of a method
// since a moment: the time on the client's hop, and that on the server's.
func Measured(calls []traffic.Call, method string, began time.Time) (m probe.Measurement, ok bool) {
	for _, c := range calls { // newest first
		if c.Hop == traffic.HopClient && !c.FromServer && c.Method == method && !c.Start.Before(began) && c.Status != traffic.StatusPending {
			m.Record = c.ID
			m.Gateway = c.Total
			break
		}
	}
	if m.Record == 0 {
		return m, false
	}
	for _, c := range calls {
		if c.Parent == m.Record && c.Hop == traffic.HopServer {
			m.Server += c.Total
		}
	}
	m.Gateway = max(m.Gateway-m.Server, 0)
	return m, true
}

// RecentCalls is how far back in the record a call is looked for.
const RecentCalls = 100

// Measure reads the record of this very gateway, as far as it is a principal's
// own.
func (in *Instance) Measure(who access.Principal) func(method string, began time.Time) (probe.Measurement, bool) {
	own := (&traffic.Filter{}).Only(func(c *traffic.Call) bool { return who.Owns(c.Principal) })
	return func(method string, began time.Time) (probe.Measurement, bool) {
		if in.Traffic == nil {
			return probe.Measurement{}, false
		}
		calls, _ := in.Traffic.List(own, 0, RecentCalls)
		return Measured(calls, method, began)
	}
}

// measureRemote reads the record of a running gateway.
func measureRemote(ctx context.Context, r *Remote) func(method string, began time.Time) (probe.Measurement, bool) {
	return func(method string, began time.Time) (probe.Measurement, bool) {
		var page struct{ Calls []traffic.Call }
		path := fmt.Sprintf("/api/v1/traffic?limit=%d&q=%s", RecentCalls, url.QueryEscape("method:"+method))
		if r.Get(ctx, path, &page) != nil {
			return probe.Measurement{}, false // a gateway without its console keeps no record to ask for
		}
		return Measured(page.Calls, method, began)
	}
}

// reuse finds a running gateway that can stand for the target: for the merged
// view always, for one server where nothing on the command line asks for a
// connection of its own.
func (b *Connection) reuse() *Remote {
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
	return Running(b.Ctx, b.Env, m.cfg.Path)
}

// ownConnection says that the command line asks for more than a shared
// connection has.
func (f *Flags) ownConnection() bool {
	return f.cwd != "" || len(f.Env)+len(f.Headers)+len(f.caps) > 0
}

// through makes a running gateway the target.
func (b *Connection) through(r *Remote, opt *probe.Options) {
	secrets := b.To.Probe.Secrets // those of the entry may be in the answers
	b.To.Probe = probe.Target{Name: b.To.Label, URL: endpointOf(r, b.To), Type: config.TypeHTTP, Socket: r.Socket, Secrets: secrets}
	opt.Measure = measureRemote(b.Ctx, r)
}
