package web

import (
	"bytes"
	"net/http"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/tester/history"
)

func (h *Handler) getRuns(w http.ResponseWriter, r *request) {
	q := r.URL.Query()
	if q.Has("export") {
		all, err := h.history.of(r.who.ID).Export()
		if err != nil {
			failWith(w, r.Request, err)
			return
		}
		w.Header().Set("Content-Disposition", `attachment; filename="mcp-request-history.json"`)
		reply(w, http.StatusOK, all)
		return
	}
	if bench := q.Get("bench"); bench != "" {
		reply(w, http.StatusOK, h.history.of(r.who.ID).Of(bench))
		return
	}
	runs, err := h.history.of(r.who.ID).List(q.Get("target"), q.Get("method"), q.Get("name"), int(r.number("limit", 100, history.MaxRuns)))
	if err != nil {
		failWith(w, r.Request, err)
		return
	}
	reply(w, http.StatusOK, runs)
}

// postRuns imports a history that was exported.
func (h *Handler) postRuns(w http.ResponseWriter, r *request) {
	var runs []history.KeptRun
	if !read(w, r.Request, &runs) {
		return
	}
	if err := h.history.of(r.who.ID).Import(runs); err != nil {
		fail(w, r.Request, http.StatusBadRequest, "bad_request", i18n.Why(err))
		return
	}
	reply(w, http.StatusOK, map[string]int{"imported": len(runs)})
}

func (h *Handler) deleteRuns(w http.ResponseWriter, r *request) {
	if err := h.history.of(r.who.ID).Clear(); err != nil {
		failWith(w, r.Request, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *Handler) getRun(w http.ResponseWriter, r *request) {
	k, ok := h.history.of(r.who.ID).Get(r.params["run"])
	if !ok {
		fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("this run is no longer kept", "这次运行已不再保留"))
		return
	}
	reply(w, http.StatusOK, k.Run)
}

// getRunBody serves the result byte for byte, with ranges, or the wire.
func (h *Handler) getRunBody(w http.ResponseWriter, r *request) {
	k, ok := h.history.of(r.who.ID).Get(r.params["run"])
	if !ok {
		fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("this run is no longer kept", "这次运行已不再保留"))
		return
	}
	if r.URL.Query().Get("part") == "wire" {
		wire := k.Wire
		if wire == nil {
			wire = []Frame{}
		}
		reply(w, http.StatusOK, wire)
		return
	}
	if k.Result == nil {
		fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("this result is no longer kept", "这个结果已不再保留"))
		return
	}
	if r.URL.Query().Has("path") {
		part(w, r, k.Result, true)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	http.ServeContent(w, r.Request, "", k.Start, bytes.NewReader(k.Result))
}
