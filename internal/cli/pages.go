package cli

import (
	"fmt"
	"net/http"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/say"
	"mcp-all-in-one/internal/upstream"
)

// index tells a program what is here.
func (rt *router) index(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"name": rt.in.name, "version": mcp.ProductVersion, "status": "running",
		"endpoints": map[string]string{"mcp": "/mcp", "health": "/health", "status": "/status"},
		"schemas":   rt.in.gateway.SchemaNames(), "timestamp": time.Now().UTC().Format(time.RFC3339),
	})
}

// health says whether all servers are well. It is 200 in any case: the gateway
// itself is.
func (rt *router) health(w http.ResponseWriter, _ *http.Request) {
	type service struct {
		Name   string         `json:"name"`
		Schema string         `json:"schema"`
		Status upstream.State `json:"status"`
		Reason string         `json:"reason,omitempty"`
	}
	services := []service{}
	connected, status := 0, "ok"
	if rt.in.audit != nil && rt.in.audit.Failing() {
		status = "degraded"
	}
	for _, s := range rt.in.statuses() {
		services = append(services, service{s.Name, s.Schema, s.State, s.Reason.String()})
		switch s.State {
		case upstream.Ready:
			connected++
		case upstream.Disabled, upstream.Pending:
		default:
			status = "degraded"
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"status": status, "timestamp": time.Now().UTC().Format(time.RFC3339), "uptime": rt.uptime().Seconds(),
		"services": map[string]any{"total": len(services), "connected": connected, "services": services},
	})
}

// ready says whether new work is welcome.
func (rt *router) ready(w http.ResponseWriter, _ *http.Request) {
	if why := rt.in.unready(); why != "" {
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": why})
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
}

// statusPage is what /status and /api/status answer.
type statusPage struct {
	Server  statusServer            `json:"server"`
	Schemas map[string]statusSchema `json:"schemas"`
	Summary statusSummary           `json:"summary"`
	// Limits are those that were reached, and how often.
	Limits map[string]int64 `json:"limits,omitempty"`
}

type statusServer struct {
	Status string `json:"status"`
	Name   string `json:"name"`
	Port   int    `json:"port"`
	URL    string `json:"url"`
	Uptime string `json:"uptime"`
}

type statusSchema struct {
	Status           string            `json:"status"`
	Servers          []statusMCPServer `json:"mcpServers"`
	TotalTools       int               `json:"totalTools"`
	ConnectedServers int               `json:"connectedServers"`
	// Receipt is what clients were shown of it, and what that cost them.
	Receipt *gateway.SchemaReceipt `json:"receipt,omitempty"`
}

type statusMCPServer struct {
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

func (rt *router) status(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, rt.in.statusPage())
}

func (p *statusPage) hit(h config.Hit) {
	if p.Limits == nil {
		p.Limits = make(map[string]int64)
	}
	p.Limits[h.Limit] = h.Count
}

func (in *instance) statusPage() statusPage {
	up := time.Since(in.started).Round(time.Second)
	page := statusPage{
		Server: statusServer{
			Status: "running", Name: in.name, Port: in.port, URL: in.url,
			Uptime: fmt.Sprintf("%02d:%02d:%02d", int(up.Hours()), int(up.Minutes())%60, int(up.Seconds())%60),
		},
		Schemas: make(map[string]statusSchema),
		Summary: statusSummary{TotalSchemas: len(in.set.Snapshot().Config.Schemas)},
	}
	for _, hit := range in.hits.List() {
		if hit.Count > 0 {
			page.hit(hit)
		}
	}
	receipts := in.gateway.Receipts()
	for _, view := range in.set.Snapshot().Schemas {
		schema := statusSchema{Status: "active", Servers: []statusMCPServer{}}
		if r, ok := receipts[view.Config.Name]; ok {
			schema.Receipt = &r
		}
		for _, u := range view.Upstreams {
			schema.add(u.Status(), in.cfg.StartWait)
		}
		page.Schemas[view.Config.Name] = schema
		page.Summary.ActiveSchemas++
		page.Summary.TotalServers += len(schema.Servers)
		page.Summary.ConnectedServers += schema.ConnectedServers
		page.Summary.TotalTools += schema.TotalTools
		for _, s := range schema.Servers {
			if s.Error != "" {
				page.Summary.FailedServers++
			}
		}
	}
	return page
}

func (s *statusSchema) add(st upstream.Status, patience time.Duration) {
	row := statusMCPServer{
		ID: st.Name, Name: st.Name, Status: st.State, Type: st.Type, ToolCount: st.Tools,
		Protocol: st.Version, PID: st.PID, Restarts: st.Restarts,
	}
	row.Error, row.ErrorZH = whyNot(st, patience).Both()
	if st.State == upstream.Ready {
		s.ConnectedServers++
		row.LastConnected = st.Since.UTC().Format(time.RFC3339)
	}
	s.TotalTools += st.Tools
	s.Servers = append(s.Servers, row)
}

// whyNot says why a server that should run does not; empty when it does, or
// may still come up in time.
func whyNot(st upstream.Status, patience time.Duration) say.Text {
	if waited := time.Since(st.Since); st.State == upstream.Starting && st.Reason.Empty() && waited >= patience {
		return say.New("it has not answered for %v", "它已有 %v 没有应答", waited.Round(time.Second))
	}
	return st.Reason
}
