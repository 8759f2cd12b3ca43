package daemon

import (
	"net/http"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcp"
)

// index tells a program what is here.
func (rt *router) index(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"name": rt.in.Name, "version": mcp.ProductVersion, "status": "running",
		"endpoints": map[string]string{"mcp": "/mcp", "health": "/health", "status": "/status"},
		"schemas":   rt.in.SchemasOf(access.From(r.Context())), "timestamp": time.Now().UTC().Format(time.RFC3339),
	})
}

// health says whether all servers are well. It is 200 in any case: the gateway
// itself is. Anybody may know that much; which servers there are is for those
// who may enter.
func (rt *router) health(w http.ResponseWriter, r *http.Request) {
	page := map[string]any{"status": rt.in.Health()}
	if who, refused := rt.in.Access().Authenticate(r); refused == nil {
		page["timestamp"], page["uptime"] = time.Now().UTC().Format(time.RFC3339), rt.uptime().Seconds()
		page["services"] = rt.in.Services(who)
	}
	writeJSON(w, http.StatusOK, page)
}

// ready says whether new work is welcome.
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
