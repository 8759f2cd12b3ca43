package daemon

import (
	"net/http"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcp"
)

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
