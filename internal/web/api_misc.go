package web

import (
	"encoding/json"
	"errors"
	"net/http"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
)

func (h *Handler) getInbox(w http.ResponseWriter, r *api.Request) {
	api.Reply(w, http.StatusOK, h.opt.Inbox.List(r.Who))
}

func (h *Handler) postInbox(w http.ResponseWriter, r *api.Request) {
	var a Answer
	if !r.Read(w, &a) {
		return
	}
	switch a.Action {
	case "accept", "decline", "cancel":
	default:
		api.Fail(w, r.Request, http.StatusBadRequest, "bad_request", i18n.New("action must be accept, decline or cancel", "action 应为 accept、decline 或 cancel"))
		return
	}
	switch err := h.opt.Inbox.Answer(r.Who, r.Param("id"), a); {
	case errors.Is(err, errOwnQuestion):
		api.Fail(w, r.Request, http.StatusForbidden, "own", i18n.Why(err))
		return
	case err != nil:
		api.Fail(w, r.Request, http.StatusGone, "gone", i18n.New("this question no longer waits", "这个问题已不再等待回答"))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

type validateBody struct {
	Schema json.RawMessage `json:"schema"`
	Value  json.RawMessage `json:"value"`
}

func (h *Handler) postValidate(w http.ResponseWriter, r *api.Request) {
	var body validateBody
	if !r.Read(w, &body) {
		return
	}
	problems, err := h.opt.Validate(body.Schema, body.Value)
	if err != nil {
		api.Fail(w, r.Request, http.StatusUnprocessableEntity, "schema", i18n.Why(err))
		return
	}
	if problems == nil {
		problems = []Problem{}
	}
	api.Reply(w, http.StatusOK, map[string][]Problem{"problems": problems})
}

// postReload applies the config file as it is now. A file that cannot be used
// changes nothing.
func (h *Handler) postReload(w http.ResponseWriter, r *api.Request) {
	report, err := h.opt.Reload()
	if err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	api.Reply(w, http.StatusOK, report)
}

func (h *Handler) getSettings(w http.ResponseWriter, r *api.Request) {
	api.Reply(w, http.StatusOK, h.opt.Settings.List(r.Lang()))
}

func (h *Handler) putSetting(w http.ResponseWriter, r *api.Request) {
	var body struct {
		Value json.RawMessage `json:"value"`
	}
	if !r.Read(w, &body) {
		return
	}
	if err := h.opt.Settings.Set(r.Context(), r.Param("key"), body.Value); err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
