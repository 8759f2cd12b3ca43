package web

import (
	"slices"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
)

// catalogPages serves the catalogue that clients see.
type catalogPages struct{ catalog Catalog }

func (p catalogPages) get(r *api.Request) (any, error) {
	q := r.URL.Query()
	return p.catalog.Look(r.Who, q.Get("schema"), q.Get("as"))
}

func (p catalogPages) put(r *api.Request, body struct{ On, Ask *bool }) (any, error) {
	kind, key, on := r.Param("kind"), "enabled", body.On
	if on == nil && kind == "tool" {
		key, on = "ask", body.Ask
	}
	if on == nil {
		return nil, api.BadRequest(i18n.New("on or, for a tool, ask must be true or false", "on 应为 true 或 false，工具也可使用 ask"))
	}
	if kind != "tool" && kind != "prompt" {
		return nil, api.NotFound(i18n.New("the kinds are tool and prompt", "可用的类型是 tool 和 prompt"))
	}
	return nil, p.catalog.Switch(r.Context(), r.Param("schema"), r.Param("server"), kind, r.Param("name"), key, *on)
}

// programPages connects MCP client programs on this machine to the gateway.
type programPages struct{ programs Programs }

func (p programPages) postPlan(r *api.Request, how ConnectOptions) (any, error) {
	return p.programs.Plan(r.Param("program"), how, r.Lang())
}

type applyBody struct {
	ConnectOptions
	Mark string `json:"mark"`
}

func (p programPages) postApply(r *api.Request, body applyBody) (any, error) {
	return p.programs.Apply(r.Context(), r.Param("program"), body.ConnectOptions, body.Mark, r.Lang())
}

func (p programPages) postImport(r *api.Request, body struct{ Servers []Importable }) (any, error) {
	return p.programs.Import(r.Context(), body.Servers, r.Lang())
}

func (h *Handler) getDoctor(r *api.Request) (any, error) {
	q := r.URL.Query()
	if name := q.Get("server"); name != "" && !h.sight.sees(r.Who, name) {
		return nil, api.ErrNotFound
	}
	findings, err := h.opt.Doctor.Examine(r.Context(), q.Get("schema"), q.Get("server"), q.Get("way") != "no", r.Lang())
	if err != nil {
		return nil, err
	}
	findings = slices.DeleteFunc(findings, func(f Finding) bool { return !r.Who.Unbound() && !r.Who.MaySee(f.Schema, f.Name, "") })
	return findings, nil
}
