package web

import (
	"time"

	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/api"
)

// historyParts is the maximum number of steps of a chart.
const historyParts = 96

type historyBody struct {
	traffic.History
	Uptime []Uptime `json:"uptime"`
}

// getHistory serves the history of one server, or of all client requests if
// no server is named, and the uptime of the servers over the last day.
func (h *Handler) getHistory(r *api.Request) (any, error) {
	server := r.URL.Query().Get("server")
	if server == "" && !(r.Who.MayInspect() && r.Who.Unbound()) || server != "" && !h.sight.sees(r.Who, server) {
		return nil, api.ErrNotFound
	}
	length := time.Duration(r.Number("minutes", 60, 24*60)) * time.Minute
	return historyBody{h.opt.Traffic.History(server, length, historyParts), h.uptime.list(h.sight.servers(r.Who))}, nil
}
