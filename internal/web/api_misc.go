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

func (h *Handler) postValidate(r *api.Request) (any, error) {
	var body validateBody
	if err := r.Decode(&body); err != nil {
		return nil, err
	}
	problems, err := h.opt.Validate(body.Schema, body.Value)
	if err != nil {
		return nil, api.Refuse(http.StatusUnprocessableEntity, "schema", i18n.Why(err))
	}
	if problems == nil {
		problems = []Problem{}
	}
	return map[string][]Problem{"problems": problems}, nil
}

// postReload reads the config file again and applies it. An invalid file
// changes nothing.
func (h *Handler) postReload(r *api.Request) (any, error) {
	return h.opt.Reload()
}

// settingPages serves the settings and changes them.
type settingPages struct{ settings Settings }

func (p settingPages) getAll(r *api.Request) (any, error) {
	return p.settings.List(r.Lang()), nil
}

func (p settingPages) put(r *api.Request) (any, error) {
	var body struct {
		Value json.RawMessage `json:"value"`
	}
	if err := r.Decode(&body); err != nil {
		return nil, err
	}
	return nil, p.settings.Set(r.Context(), r.Param("key"), body.Value)
}

func (p settingPages) getFile(r *api.Request) (any, error) {
	return p.settings.File()
}

func (p settingPages) putFile(r *api.Request) (any, error) {
	var body struct{ Text, Mark, Confirm string }
	if err := r.Decode(&body); err != nil {
		return nil, err
	}
	return nil, p.settings.Replace(r.Context(), body.Text, body.Mark, body.Confirm)
}

// postRestart starts the gateway again with the arguments that it was started
// with, after the running calls have ended.
func (h *Handler) postRestart(r *api.Request) (any, error) {
	return nil, h.opt.Restart()
}
