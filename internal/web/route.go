package web

import (
	_ "embed" // openapi.json
	"net/http"
	"slices"

	"mcp-all-in-one/internal/web/api"
)

//go:embed openapi.json
var openAPI []byte

func (h *Handler) table() []api.Route {
	route := api.NewRoute
	return slices.Concat(h.Logins.Routes(), h.opt.Inbox.Routes(), h.bench.Routes(), h.suites.Routes(), []api.Route{
		route("GET", "openapi.json", api.ScopeNone, h.getOpenAPI),
		route("GET", "events", api.ScopeRead, h.getEvents),
		route("GET", "overview", api.ScopeRead, h.getOverview),
		route("GET", "history", api.ScopeRead, h.getHistory),
		route("GET", "servers", api.ScopeRead, h.getServers),
		route("GET", "servers/{schema}/{name}", api.ScopeRead, h.getServer),
		route("PUT", "servers/{schema}/{name}", api.ScopeAdmin, h.putServer),
		route("DELETE", "servers/{schema}/{name}", api.ScopeAdmin, h.deleteServer),
		route("POST", "servers/{schema}/{name}/{action}", api.ScopeAdmin, h.postServer),
		route("GET", "servers/{schema}/{name}/signin", api.ScopeAdmin, h.signIns.get),
		route("POST", "undo/{undo}", api.ScopeAdmin, h.undos.post),
		route("POST", "reload", api.ScopeAdmin, h.postReload),
		route("GET", "clients", api.ScopeRead, h.getClients),
		route("GET", "catalog", api.ScopeRead, h.getCatalog),
		route("PUT", "catalog/{schema}/{server}/{kind}/{name}", api.ScopeAdmin, h.putCatalog),
		route("GET", "programs", api.ScopeAdmin, h.getPrograms),
		route("POST", "programs/{program}/plan", api.ScopeAdmin, h.postPlan),
		route("POST", "programs/{program}/apply", api.ScopeAdmin, h.postApply),
		route("GET", "doctor", api.ScopeAdmin, h.getDoctor),
		route("POST", "suites/draft", api.ScopeRead, h.drafts.post),
		route("GET", "traffic", api.ScopeRead, h.getTraffic),
		route("GET", "traffic/export", api.ScopeRead, h.getTrafficExport),
		route("GET", "traffic/{id}", api.ScopeRead, h.getTrafficEntry),
		route("GET", "traffic/{id}/body", api.ScopeRead, h.getTrafficBody),
		route("GET", "logs/{server}", api.ScopeAdmin, h.getLogs),
		route("GET", "runs", api.ScopeRead, h.history.getAll),
		route("POST", "runs", api.ScopeCall, h.history.post),
		route("DELETE", "runs", api.ScopeCall, h.history.delete),
		route("GET", "runs/{run}", api.ScopeRead, h.history.get),
		route("GET", "runs/{run}/body", api.ScopeRead, h.history.getBody),
		route("POST", "validate", api.ScopeRead, h.postValidate),
		route("GET", "settings", api.ScopeAdmin, h.getSettings),
		route("GET", "unread", api.ScopeAdmin, h.getUnread),
		route("PUT", "settings/{key}", api.ScopeAdmin, h.putSetting),
	})
}

func (h *Handler) getOpenAPI(w http.ResponseWriter, _ *api.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(openAPI)
}
