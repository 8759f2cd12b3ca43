package web

import (
	_ "embed" // openapi.json
	"net/http"
	"slices"

	"mcp-all-in-one/internal/web/api"
	"mcp-all-in-one/internal/web/inbox"
)

//go:embed openapi.json
var openAPI []byte

func (h *Handler) table() []api.Route {
	catalog, programs, settings := catalogPages{h.opt.Catalog}, programPages{h.opt.Programs}, settingPages{h.opt.Settings}
	route := api.NewRoute
	return slices.Concat(h.Logins.Routes(), h.bench.Routes(), h.suites.Routes(), []api.Route{
		{Method: "GET", Pattern: "openapi.json", Scope: api.ScopeNone, Serve: getOpenAPI},
		{Method: "GET", Pattern: "events", Scope: api.ScopeRead, Serve: h.getEvents},
		route("GET", "overview", api.ScopeRead, h.getOverview),
		route("GET", "inbox", api.ScopeRead, func(r *api.Request) (any, error) { return h.joined.inbox(r, h.opt.Inbox.List(r.Who)), nil }),
		route("GET", "inbox/done", api.ScopeRead, func(r *api.Request) (any, error) { return h.joined.done(r, h.opt.Inbox.Done(r.Who)), nil }),
		route("POST", inbox.AnswerPattern, api.ScopeCall, api.Reading(h.opt.Inbox.Post)),
		route("GET", "history", api.ScopeRead, h.getHistory),
		route("GET", "usage", api.ScopeRead, h.usage.get),
		route("GET", "servers", api.ScopeRead, func(r *api.Request) (any, error) { return h.joined.servers(r, h.sight.servers(r.Who)), nil }),
		route("GET", "servers/{schema}/{name}", api.ScopeRead, h.servers.get),
		route("PUT", "servers/{schema}/{name}", api.ScopeAdmin, api.Reading(h.servers.put)),
		route("DELETE", "servers/{schema}/{name}", api.ScopeAdmin, h.servers.delete),
		route("POST", "servers/{schema}/{name}/ping", api.ScopeAdmin, func(r *api.Request) (any, error) {
			return h.opt.Servers.Ping(r.Context(), r.Param("schema"), r.Param("name"))
		}),
		route("POST", "servers/{schema}/{name}/{action}", api.ScopeAdmin, h.servers.post),
		route("GET", "servers/{schema}/{name}/signin", api.ScopeAdmin, h.signIns.get),
		route("POST", "undo/{undo}", api.ScopeAdmin, h.undos.post),
		route("POST", "reload", api.ScopeAdmin, func(*api.Request) (any, error) { return h.opt.Reload() }),
		route("GET", "clients", api.ScopeRead, func(r *api.Request) (any, error) { return h.joined.clients(r, h.sight.clients(r.Who)), nil }),
		route("GET", "catalog", api.ScopeRead, catalog.get),
		route("PUT", "catalog/{schema}/{server}/{kind}/{name}", api.ScopeAdmin, api.Reading(catalog.put)),
		route("GET", "programs", api.ScopeAdmin, func(*api.Request) (any, error) { return h.opt.Programs.List(), nil }),
		route("GET", "programs/servers", api.ScopeAdmin, func(r *api.Request) (any, error) { return h.opt.Programs.Importable(r.Context(), r.Lang()) }),
		route("POST", "programs/import", api.ScopeAdmin, api.Reading(programs.postImport)),
		route("POST", "programs/{program}/plan", api.ScopeAdmin, api.Reading(programs.postPlan)),
		route("POST", "programs/{program}/apply", api.ScopeAdmin, api.Reading(programs.postApply)),
		route("GET", "doctor", api.ScopeAdmin, h.getDoctor),
		route("POST", "suites/draft", api.ScopeRead, api.Reading(h.drafts.post)),
		route("GET", "traffic", api.ScopeRead, h.traffic.getAll),
		route("GET", "traffic/export", api.ScopeRead, h.traffic.export),
		route("GET", "traffic/{id}", api.ScopeRead, h.traffic.get),
		route("GET", "traffic/{id}/body", api.ScopeRead, h.traffic.getBody),
		route("GET", "logs/{server}", api.ScopeAdmin, h.traffic.getLogs),
		route("GET", "runs", api.ScopeRead, h.history.getAll),
		route("POST", "runs", api.ScopeCall, api.Reading(h.history.post)).Staying(),
		route("DELETE", "runs", api.ScopeCall, func(r *api.Request) (any, error) { return nil, h.history.of(r.Who.Owner()).Clear() }),
		route("GET", "runs/{run}", api.ScopeRead, h.history.get),
		route("GET", "runs/{run}/body", api.ScopeRead, h.history.getBody),
		route("POST", "validate", api.ScopeRead, api.Reading(h.postValidate)),
		route("GET", "settings", api.ScopeAdmin, func(r *api.Request) (any, error) { return h.opt.Settings.List(r.Lang()), nil }),
		route("GET", "unread", api.ScopeAdmin, func(r *api.Request) (any, error) { return h.unread(r.Who), nil }),
		route("PUT", "settings/{key}", api.ScopeAdmin, api.Reading(settings.put)),
		route("GET", "config", api.ScopeAdmin, func(*api.Request) (any, error) { return h.opt.Settings.File() }),
		route("PUT", "config", api.ScopeAdmin, api.Reading(settings.putFile)),
		route("POST", "restart", api.ScopeAdmin, func(*api.Request) (any, error) { return nil, h.opt.Restart() }),
	})
}

func getOpenAPI(w http.ResponseWriter, _ *api.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(openAPI)
}
