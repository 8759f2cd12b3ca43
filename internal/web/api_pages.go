package web

import (
	"net/http"
	"slices"

	"mcp-all-in-one/internal/i18n"
)

func (h *Handler) getCatalog(w http.ResponseWriter, r *request) {
	q := r.URL.Query()
	page, err := h.opt.Catalog.Look(r.who, q.Get("schema"), q.Get("as"))
	if err != nil {
		failWith(w, r.Request, err)
		return
	}
	reply(w, http.StatusOK, page)
}

func (h *Handler) putCatalog(w http.ResponseWriter, r *request) {
	var body struct {
		On bool `json:"on"`
	}
	if !read(w, r.Request, &body) {
		return
	}
	p := r.params
	if p["kind"] != "tool" && p["kind"] != "prompt" {
		fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("the kinds are tool and prompt", "可用的类型是 tool 和 prompt"))
		return
	}
	if err := h.opt.Catalog.Switch(r.Context(), p["schema"], p["server"], p["kind"], p["name"], body.On); err != nil {
		failWith(w, r.Request, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *Handler) getPrograms(w http.ResponseWriter, _ *request) {
	reply(w, http.StatusOK, h.opt.Programs.List())
}

func (h *Handler) postPlan(w http.ResponseWriter, r *request) {
	var how ConnectOptions
	if !read(w, r.Request, &how) {
		return
	}
	plan, err := h.opt.Programs.Plan(r.params["program"], how, langOf(r.Request))
	if err != nil {
		failWith(w, r.Request, err)
		return
	}
	reply(w, http.StatusOK, plan)
}

func (h *Handler) postApply(w http.ResponseWriter, r *request) {
	var body struct {
		ConnectOptions
		Mark string `json:"mark"`
	}
	if !read(w, r.Request, &body) {
		return
	}
	plan, err := h.opt.Programs.Apply(r.Context(), r.params["program"], body.ConnectOptions, body.Mark, langOf(r.Request))
	if err != nil {
		failWith(w, r.Request, err)
		return
	}
	reply(w, http.StatusOK, plan)
}

func (h *Handler) getDoctor(w http.ResponseWriter, r *request) {
	q := r.URL.Query()
	if name := q.Get("server"); name != "" && !h.sees(r.who, name) {
		failWith(w, r.Request, ErrNotFound)
		return
	}
	findings, err := h.opt.Doctor.Examine(r.Context(), q.Get("schema"), q.Get("server"), q.Get("way") != "no", langOf(r.Request))
	if err != nil {
		failWith(w, r.Request, err)
		return
	}
	findings = slices.DeleteFunc(findings, func(f Finding) bool { return !r.who.Unbound() && !r.who.MaySee(f.Schema, f.Name, "") })
	reply(w, http.StatusOK, findings)
}
