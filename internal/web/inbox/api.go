package inbox

import (
	"errors"
	"net/http"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
)

// Routes returns the routes that show and answer questions.
func (b *Inbox) Routes() []api.Route {
	return []api.Route{
		api.NewRoute("GET", "inbox", api.ScopeRead, b.get),
		api.NewRoute("GET", "inbox/done", api.ScopeRead, b.getDone),
		api.NewRoute("POST", "inbox/{id}", api.ScopeCall, b.post),
	}
}

func (b *Inbox) get(w http.ResponseWriter, r *api.Request) {
	api.Reply(w, http.StatusOK, b.List(r.Who))
}

func (b *Inbox) getDone(w http.ResponseWriter, r *api.Request) {
	api.Reply(w, http.StatusOK, b.Done(r.Who))
}

func (b *Inbox) post(w http.ResponseWriter, r *api.Request) {
	var a Answer
	if !r.Read(w, &a) {
		return
	}
	a.Typed = api.IsTyped(r.Context())
	switch a.Action {
	case "accept", "decline", "cancel":
	default:
		api.Fail(w, r.Request, http.StatusBadRequest, "bad_request", i18n.New("action must be accept, decline or cancel", "action 应为 accept、decline 或 cancel"))
		return
	}
	switch err := b.Answer(r.Who, r.Param("id"), a); {
	case errors.Is(err, errOwnQuestion):
		api.Fail(w, r.Request, http.StatusForbidden, "own", i18n.Why(err))
		return
	case errors.Is(err, errNoScript) || errors.Is(err, errFor):
		api.Fail(w, r.Request, http.StatusBadRequest, "bad_request", i18n.Why(err))
		return
	case errors.As(err, new(*notApplied)):
		api.Fail(w, r.Request, http.StatusUnprocessableEntity, "refused", i18n.Why(errors.Unwrap(err)))
		return
	case err != nil:
		api.Fail(w, r.Request, http.StatusGone, "gone", i18n.New("this question no longer waits", "这个问题已不再等待回答"))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
