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

func (h *Handler) postValidate(r *api.Request, body validateBody) (any, error) {
	problems, err := h.opt.Validate(body.Schema, body.Value)
	if err != nil {
		return nil, api.Refuse(http.StatusUnprocessableEntity, "schema", i18n.Why(err))
	}
	if problems == nil {
		problems = []Problem{}
	}
	return map[string][]Problem{"problems": problems}, nil
}

// settingPages serves the settings and changes them.
type settingPages struct{ settings Settings }

func (p settingPages) put(r *api.Request, body struct{ Value json.RawMessage }) (any, error) {
	return nil, p.settings.Set(r.Context(), r.Param("key"), body.Value)
}

func (p settingPages) putFile(r *api.Request, body struct{ Text, Mark, Confirm string }) (any, error) {
	return nil, p.settings.Replace(r.Context(), body.Text, body.Mark, body.Confirm)
}
