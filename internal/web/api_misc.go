package web

import (
	"encoding/json"
	"net/http"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
)

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

// postReload reads the config file again and applies it. An invalid file
// changes nothing.
func (h *Handler) postReload(w http.ResponseWriter, r *api.Request) {
	report, err := h.opt.Reload()
	if err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	api.Reply(w, http.StatusOK, report)
}

// settingPages serves the settings and changes them.
type settingPages struct{ settings Settings }

func (p settingPages) getAll(w http.ResponseWriter, r *api.Request) {
	api.Reply(w, http.StatusOK, p.settings.List(r.Lang()))
}

func (p settingPages) put(w http.ResponseWriter, r *api.Request) {
	var body struct {
		Value json.RawMessage `json:"value"`
	}
	if !r.Read(w, &body) {
		return
	}
	if err := p.settings.Set(r.Context(), r.Param("key"), body.Value); err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (p settingPages) getFile(w http.ResponseWriter, r *api.Request) {
	api.Answer(func(*api.Request) (any, error) { return p.settings.File() })(w, r)
}

func (p settingPages) putFile(w http.ResponseWriter, r *api.Request) {
	var body struct{ Text, Mark, Confirm string }
	if !r.Read(w, &body) {
		return
	}
	if err := p.settings.Replace(r.Context(), body.Text, body.Mark, body.Confirm); err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// postRestart starts the gateway again with the arguments that it was started
// with, after the running calls have ended.
func (h *Handler) postRestart(w http.ResponseWriter, r *api.Request) {
	if err := h.opt.Restart(); err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
