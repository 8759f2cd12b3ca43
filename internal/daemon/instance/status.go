package instance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/receipt"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
)

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

// SchemasOf returns the names of the schemas that a principal sees.
func (in *Instance) SchemasOf(who access.Principal) []string {
	return slices.DeleteFunc(in.Gateway.SchemaNames(), func(name string) bool { return !who.MaySee(name, "", "") })
}

// Health returns "ok", or "degraded" if a server that should run does not.
func (in *Instance) Health() string {
	if in.Audit != nil && in.Audit.Failing() {
		return "degraded"
	}
	for _, s := range in.Statuses() {
		switch s.State {
		case upstream.Ready, upstream.Disabled, upstream.Pending:
		default:
			if !s.PerUser {
				return "degraded"
			}
		}
	}
	return "ok"
}

// Services returns the servers that a principal sees, for /health.
func (in *Instance) Services(who access.Principal) map[string]any {
	type service struct {
		Name   string         `json:"name"`
		Schema string         `json:"schema"`
		Status upstream.State `json:"status"`
		Reason string         `json:"reason,omitempty"`
	}
	list, connected := []service{}, 0
	for _, s := range in.Statuses() {
		if !who.MaySee(s.Schema, s.Name, "") {
			continue
		}
		one := service{Name: s.Name, Schema: s.Schema, Status: s.State}
		if who.MayInspect() {
			one.Reason = s.Reason.String()
		}
		if list = append(list, one); s.State == upstream.Ready {
			connected++
		}
	}
	return map[string]any{"total": len(list), "connected": connected, "services": list}
}

// StatusPage returns what a principal sees of the schemas and their servers.
func (in *Instance) StatusPage(who access.Principal) control.StatusPage {
	up := time.Since(in.Started).Round(time.Second)
	page := control.StatusPage{
		Server: control.StatusServer{
			Status: "running", Name: in.Name, Port: in.Port, URL: in.URL,
			Uptime: fmt.Sprintf("%02d:%02d:%02d", int(up.Hours()), int(up.Minutes())%60, int(up.Seconds())%60),
		},
		Schemas: make(map[string]control.StatusSchema),
	}
	for _, schema := range in.Set.Snapshot().Config.Schemas {
		if who.MaySee(schema.Name, "", "") {
			page.Summary.TotalSchemas++
		}
	}
	if in.Unread != nil && who.MayConfigure() {
		page.Unread = in.Unread()
	}
	for _, hit := range in.Hits.List() {
		if hit.Count > 0 {
			page.Hit(hit)
		}
	}
	var receipts map[string]receipt.Schema
	var repeats map[string]traffic.Repeated
	if who.Unbound() { // they count all servers
		receipts, repeats = in.Gateway.Receipts(), in.Traffic.Repeats(mcp.MethodToolsCall)
	}
	for _, view := range in.Set.Snapshot().Schemas {
		if !who.MaySee(view.Config.Name, "", "") {
			continue
		}
		schema := control.StatusSchema{Status: "active", Servers: []control.StatusMCPServer{}}
		if r, ok := receipts[view.Config.Name]; ok {
			again := repeats[view.Config.Name]
			r.Direct, r.Followed = again.Calls, again.Followed
			schema.Receipt = receiptFor(who, r)
		}
		for _, u := range view.Upstreams {
			if who.MaySee(view.Config.Name, u.Name(), "") {
				schema.Add(seenBy(u, who), in.Set.Snapshot().Config.StartWait, who)
			}
		}
		page.Schemas[view.Config.Name] = schema
		page.Summary.ActiveSchemas++
		page.Summary.TotalServers += len(schema.Servers)
		page.Summary.ConnectedServers += schema.ConnectedServers
		page.Summary.TotalTools += schema.TotalTools
		page.Summary.FailedServers += schema.Failed
	}
	return page
}

// seenBy returns the status of a server with the counts that a principal sees.
func seenBy(u *upstream.Upstream, who access.Principal) upstream.Status {
	st := u.Status()
	if len(who.Tools) > 0 {
		st.Tools = ToolsSeen(u, who)
	}
	return st
}

// ToolsSeen counts the tools of a server that a principal sees.
func ToolsSeen(u *upstream.Upstream, who access.Principal) int {
	n, cfg := 0, u.Config()
	if f := u.Features(nil); f != nil {
		for i := range f.Tools {
			if who.MaySee(cfg.Schema, cfg.Name, f.Tools[i].Name) {
				n++
			}
		}
	}
	return n
}

// receiptFor removes the entries of principals that who may not look into.
func receiptFor(who access.Principal, r receipt.Schema) *receipt.Schema {
	others := func(one receipt.Receipt) bool { return !who.MayCount(one.Key, "", "", "") }
	r.Sessions, r.Keys = slices.DeleteFunc(r.Sessions, others), slices.DeleteFunc(r.Keys, others)
	return &r
}
