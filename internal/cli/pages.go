package cli

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/web"
)

// index tells a program what is here.
func (rt *router) index(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"name": rt.in.Name, "version": mcp.ProductVersion, "status": "running",
		"endpoints": map[string]string{"mcp": "/mcp", "health": "/health", "status": "/status"},
		"schemas":   rt.in.SchemasOf(access.From(r.Context())), "timestamp": time.Now().UTC().Format(time.RFC3339),
	})
}

// SchemasOf are the names of the schemas that a principal sees.
func (in *Instance) SchemasOf(who access.Principal) []string {
	return slices.DeleteFunc(in.Gateway.SchemaNames(), func(name string) bool { return !who.MaySee(name, "", "") })
}

// health says whether all servers are well. It is 200 in any case: the gateway
// itself is. Anybody may know that much; which servers there are is for those
// who may enter.
func (rt *router) health(w http.ResponseWriter, r *http.Request) {
	page := map[string]any{"status": rt.in.Health()}
	if who, refused := rt.in.Access.Authenticate(r); refused == nil {
		page["timestamp"], page["uptime"] = time.Now().UTC().Format(time.RFC3339), rt.uptime().Seconds()
		page["services"] = rt.in.Services(who)
	}
	writeJSON(w, http.StatusOK, page)
}

// Health is ok, or degraded when a server that should run does not.
func (in *Instance) Health() string {
	if in.Audit != nil && in.Audit.Failing() {
		return "degraded"
	}
	for _, s := range in.Statuses() {
		switch s.State {
		case upstream.Ready, upstream.Disabled, upstream.Pending:
		default:
			return "degraded"
		}
	}
	return "ok"
}

// Services are the servers that a principal sees, for /health.
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

// ready says whether new work is welcome.
func (rt *router) ready(w http.ResponseWriter, _ *http.Request) {
	if why := rt.in.Unready(); why != "" {
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": why})
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
}

// StatusPage is what /status and /api/status answer.
type StatusPage struct {
	Server  StatusServer            `json:"server"`
	Schemas map[string]StatusSchema `json:"schemas"`
	Summary statusSummary           `json:"summary"`
	// Limits are those that were reached, and how often.
	Limits map[string]int64 `json:"limits,omitempty"`
	// Unread is what the config file says that was not read yet, for those who
	// may read it again.
	Unread *web.Unread `json:"unread,omitempty"`
}

type StatusServer struct {
	Status string `json:"status"`
	Name   string `json:"name"`
	Port   int    `json:"port"`
	URL    string `json:"url"`
	Uptime string `json:"uptime"`
}

type StatusSchema struct {
	Status           string            `json:"status"`
	Servers          []StatusMCPServer `json:"mcpServers"`
	TotalTools       int               `json:"totalTools"`
	ConnectedServers int               `json:"connectedServers"`
	// Receipt is what clients were shown of it, and what that cost them.
	Receipt *gateway.SchemaReceipt `json:"receipt,omitempty"`
	Failed  int                    `json:"-"`
}

type StatusMCPServer struct {
	ID            string         `json:"id"`
	Name          string         `json:"name"`
	Status        upstream.State `json:"status"`
	Type          string         `json:"type"`
	ToolCount     int            `json:"toolCount"`
	Protocol      string         `json:"protocol,omitempty"`
	PID           int            `json:"pid,omitempty"`
	Restarts      int            `json:"restarts"`
	Error         string         `json:"error,omitempty"`
	ErrorZH       string         `json:"errorZH,omitempty"`
	LastConnected string         `json:"lastConnected,omitempty"`
}

type statusSummary struct {
	TotalSchemas     int `json:"totalSchemas"`
	ActiveSchemas    int `json:"activeSchemas"`
	TotalServers     int `json:"totalServers"`
	ConnectedServers int `json:"connectedServers"`
	FailedServers    int `json:"failedServers"`
	TotalTools       int `json:"totalTools"`
}

func (rt *router) status(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, rt.in.StatusPage(access.From(r.Context())))
}

func (p *StatusPage) Hit(h config.Hit) {
	if p.Limits == nil {
		p.Limits = make(map[string]int64)
	}
	p.Limits[h.Limit] = h.Count
}

// StatusPage is what a principal sees of the schemas and their servers.
func (in *Instance) StatusPage(who access.Principal) StatusPage {
	up := time.Since(in.Started).Round(time.Second)
	page := StatusPage{
		Server: StatusServer{
			Status: "running", Name: in.Name, Port: in.Port, URL: in.URL,
			Uptime: fmt.Sprintf("%02d:%02d:%02d", int(up.Hours()), int(up.Minutes())%60, int(up.Seconds())%60),
		},
		Schemas: make(map[string]StatusSchema),
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
	receipts := in.Gateway.Receipts()
	for _, view := range in.Set.Snapshot().Schemas {
		if !who.MaySee(view.Config.Name, "", "") {
			continue
		}
		schema := StatusSchema{Status: "active", Servers: []StatusMCPServer{}}
		if r, ok := receipts[view.Config.Name]; ok && who.Unbound() { // its figures are those of all servers
			schema.Receipt = receiptFor(who, r)
		}
		for _, u := range view.Upstreams {
			if who.MaySee(view.Config.Name, u.Name(), "") {
				schema.Add(u.Status(), in.Config.StartWait, who)
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

// receiptFor leaves out what other principals were shown.
func receiptFor(who access.Principal, r gateway.SchemaReceipt) *gateway.SchemaReceipt {
	others := func(one gateway.Receipt) bool { return !who.MayLookAt(one.Key) }
	r.Sessions, r.Keys = slices.DeleteFunc(r.Sessions, others), slices.DeleteFunc(r.Keys, others)
	return &r
}

func (s *StatusSchema) Add(st upstream.Status, patience time.Duration, who access.Principal) {
	row := StatusMCPServer{
		ID: st.Name, Name: st.Name, Status: st.State, Type: st.Type, ToolCount: st.Tools,
		Protocol: st.Version, Restarts: st.Restarts,
	}
	why := WhyNot(st, patience)
	if !why.Empty() {
		s.Failed++
	}
	if who.MayInspect() {
		row.PID = st.PID
		row.Error, row.ErrorZH = why.Both()
	}
	if st.State == upstream.Ready {
		s.ConnectedServers++
		row.LastConnected = st.Since.UTC().Format(time.RFC3339)
	}
	s.TotalTools += st.Tools
	s.Servers = append(s.Servers, row)
}

// WhyNot says why a server that should run does not; empty when it does, or
// may still come up in time.
func WhyNot(st upstream.Status, patience time.Duration) i18n.Text {
	if waited := time.Since(st.Since); st.State == upstream.Starting && st.Reason.Empty() && waited >= patience {
		return i18n.New("it has not answered for %v", "它已有 %v 没有应答", waited.Round(time.Second))
	}
	return st.Reason
}
