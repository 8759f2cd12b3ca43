package web

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/tester/history"
	"mcp-all-in-one/internal/web/api"
)

func (h *histories) getAll(r *api.Request) (any, error) {
	q := r.URL.Query()
	if q.Has("export") {
		all, err := h.of(r.Who.Owner()).Export()
		if err != nil {
			return nil, err
		}
		return api.HandlerFunc(func(w http.ResponseWriter, _ *api.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="mcp-request-history.json"`)
			api.Reply(w, http.StatusOK, all)
		}), nil
	}
	if bench := q.Get("bench"); bench != "" {
		return h.of(r.Who.Owner()).Of(bench), nil
	}
	return h.of(r.Who.Owner()).List(q.Get("target"), q.Get("method"), q.Get("name"), int(r.Number("limit", 100, history.MaxRuns)))
}

// post imports a history that was exported before.
func (h *histories) post(r *api.Request, runs []history.KeptRun) (any, error) {
	if err := h.of(r.Who.Owner()).Import(runs); err != nil {
		return nil, api.BadRequest(i18n.Why(err))
	}
	return map[string]int{"imported": len(runs)}, nil
}

// find returns a run of the principal.
func (h *histories) find(r *api.Request, run string) (*history.KeptRun, error) {
	k, ok := h.of(r.Who.Owner()).Get(run)
	if !ok {
		return nil, api.NotFound(i18n.New("this run is no longer kept", "这次运行已不再保留"))
	}
	return &k, nil
}

func (h *histories) get(r *api.Request) (any, error) {
	k, err := h.find(r, r.Param("run"))
	if err != nil {
		return nil, err
	}
	return k.Run, nil
}

// getBody serves the result unchanged, with range requests, or the recorded
// wire messages.
func (h *histories) getBody(r *api.Request) (any, error) {
	k, err := h.find(r, r.Param("run"))
	if err != nil {
		return nil, err
	}
	if r.URL.Query().Get("part") == "wire" {
		wire := k.Wire
		if wire == nil {
			wire = []history.WireFrame{}
		}
		return wire, nil
	}
	if k.Result == nil {
		return nil, api.NotFound(i18n.New("this result is no longer kept", "这个结果已不再保留"))
	}
	if r.URL.Query().Has("path") {
		return part(r, k.Result, true)
	}
	return api.HandlerFunc(func(w http.ResponseWriter, r *api.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		http.ServeContent(w, r.Request, "", k.Start, bytes.NewReader(k.Result))
	}), nil
}

// HistoryFile is the name of the owner's history in Options.StateDir. The
// tester on the command line writes the same file.
const HistoryFile = "runs.jsonl"

// histories holds the tester's histories, one per owner.
type histories struct {
	dir string

	mu      sync.Mutex
	byOwner map[string]*history.History
}

func openHistories(dir string) (*histories, error) {
	h := &histories{dir: dir, byOwner: map[string]*history.History{}}
	_, err := h.of(access.Owner.ID).List("", "", "", 0)
	return h, err
}

// of returns the history of an owner, which access.Principal.Owner names.
func (h *histories) of(owner string) *history.History {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.byOwner[owner]
	if one == nil {
		one = history.OpenHistory(h.file(owner))
		h.byOwner[owner] = one
	}
	return one
}

func (h *histories) file(owner string) string {
	switch {
	case h.dir == "":
		return ""
	case owner == access.Owner.ID:
		return filepath.Join(h.dir, HistoryFile)
	}
	sum := sha256.Sum256([]byte(owner))
	return filepath.Join(h.dir, fmt.Sprintf("runs-%x.jsonl", sum[:12]))
}
