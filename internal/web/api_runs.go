package web

import (
	"bytes"
	"net/http"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/tester/history"
	"mcp-all-in-one/internal/web/api"
)

func (h *histories) getAll(w http.ResponseWriter, r *api.Request) {
	q := r.URL.Query()
	if q.Has("export") {
		all, err := h.of(r.Who.ID).Export()
		if err != nil {
			api.FailWith(w, r.Request, err)
			return
		}
		w.Header().Set("Content-Disposition", `attachment; filename="mcp-request-history.json"`)
		api.Reply(w, http.StatusOK, all)
		return
	}
	if bench := q.Get("bench"); bench != "" {
		api.Reply(w, http.StatusOK, h.of(r.Who.ID).Of(bench))
		return
	}
	runs, err := h.of(r.Who.ID).List(q.Get("target"), q.Get("method"), q.Get("name"), int(r.Number("limit", 100, history.MaxRuns)))
	if err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	api.Reply(w, http.StatusOK, runs)
}

// post imports a history that was exported before.
func (h *histories) post(w http.ResponseWriter, r *api.Request) {
	var runs []history.KeptRun
	if !r.Read(w, &runs) {
		return
	}
	if err := h.of(r.Who.ID).Import(runs); err != nil {
		api.Fail(w, r.Request, http.StatusBadRequest, "bad_request", i18n.Why(err))
		return
	}
	api.Reply(w, http.StatusOK, map[string]int{"imported": len(runs)})
}

func (h *histories) delete(w http.ResponseWriter, r *api.Request) {
	if err := h.of(r.Who.ID).Clear(); err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *histories) get(w http.ResponseWriter, r *api.Request) {
	k, ok := h.of(r.Who.ID).Get(r.Param("run"))
	if !ok {
		api.Fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("this run is no longer kept", "这次运行已不再保留"))
		return
	}
	api.Reply(w, http.StatusOK, k.Run)
}

// getBody serves the result unchanged, with range requests, or the recorded
// wire messages.
func (h *histories) getBody(w http.ResponseWriter, r *api.Request) {
	k, ok := h.of(r.Who.ID).Get(r.Param("run"))
	if !ok {
		api.Fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("this run is no longer kept", "这次运行已不再保留"))
		return
	}
	if r.URL.Query().Get("part") == "wire" {
		wire := k.Wire
		if wire == nil {
			wire = []history.WireFrame{}
		}
		api.Reply(w, http.StatusOK, wire)
		return
	}
	if k.Result == nil {
		api.Fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("this result is no longer kept", "这个结果已不再保留"))
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
