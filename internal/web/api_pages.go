package web

import (
	"net/http"
	"slices"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
)

// catalogPages serves the catalogue that clients see.
type catalogPages struct{ catalog Catalog }

func (p catalogPages) get(w http.ResponseWriter, r *api.Request) {
	q := r.URL.Query()
	page, err := p.catalog.Look(r.Who, q.Get("schema"), q.Get("as"))
	if err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	api.Reply(w, http.StatusOK, page)
}

func (p catalogPages) put(w http.ResponseWriter, r *api.Request) {
	var body struct {
		On  *bool `json:"on"`
		Ask *bool `json:"ask"`
	}
	if !r.Read(w, &body) {
		return
	}
	kind, key, on := r.Param("kind"), "enabled", body.On
	if on == nil && kind == "tool" {
		key, on = "ask", body.Ask
	}
	if on == nil {
		api.Fail(w, r.Request, http.StatusBadRequest, "bad_request", i18n.New("on or, for a tool, ask must be true or false", "on 应为 true 或 false，工具也可使用 ask"))
		return
	}
	if kind != "tool" && kind != "prompt" {
		api.Fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("the kinds are tool and prompt", "可用的类型是 tool 和 prompt"))
		return
	}
	if err := p.catalog.Switch(r.Context(), r.Param("schema"), r.Param("server"), kind, r.Param("name"), key, *on); err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// programPages connects MCP client programs on this machine to the gateway.
type programPages struct{ programs Programs }

func (p programPages) getAll(w http.ResponseWriter, _ *api.Request) {
	api.Reply(w, http.StatusOK, p.programs.List())
}

func (p programPages) postPlan(w http.ResponseWriter, r *api.Request) {
	var how ConnectOptions
	if !r.Read(w, &how) {
		return
	}
	plan, err := p.programs.Plan(r.Param("program"), how, r.Lang())
	if err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	api.Reply(w, http.StatusOK, plan)
}

func (p programPages) postApply(w http.ResponseWriter, r *api.Request) {
	var body struct {
		ConnectOptions
		Mark string `json:"mark"`
	}
	if !r.Read(w, &body) {
		return
	}
	plan, err := p.programs.Apply(r.Context(), r.Param("program"), body.ConnectOptions, body.Mark, r.Lang())
	if err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	api.Reply(w, http.StatusOK, plan)
}

func (p programPages) getServers(w http.ResponseWriter, r *api.Request) {
	api.Answer(func(r *api.Request) (any, error) { return p.programs.Importable(r.Context(), r.Lang()) })(w, r)
}

func (p programPages) postImport(w http.ResponseWriter, r *api.Request) {
	var body struct {
		Servers []Importable `json:"servers"`
	}
	if !r.Read(w, &body) {
		return
	}
	api.Answer(func(r *api.Request) (any, error) { return p.programs.Import(r.Context(), body.Servers, r.Lang()) })(w, r)
}

func (h *Handler) getDoctor(w http.ResponseWriter, r *api.Request) {
	q := r.URL.Query()
	if name := q.Get("server"); name != "" && !h.sight.sees(r.Who, name) {
		api.FailWith(w, r.Request, api.ErrNotFound)
		return
	}
	findings, err := h.opt.Doctor.Examine(r.Context(), q.Get("schema"), q.Get("server"), q.Get("way") != "no", r.Lang())
	if err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	findings = slices.DeleteFunc(findings, func(f Finding) bool { return !r.Who.Unbound() && !r.Who.MaySee(f.Schema, f.Name, "") })
	api.Reply(w, http.StatusOK, findings)
}
