package web

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
)

const (
	undoLife = 10 * time.Minute
	maxUndos = 32
)

// undos holds functions that undo changes. They stay in the gateway because
// the data they restore may contain secrets that no page may see.
type undos struct {
	mu   sync.Mutex
	byID map[string]undo
}

type undo struct {
	run     func(context.Context) error
	expires time.Time
}

func (u *undos) add(run func(context.Context) error) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.byID == nil {
		u.byID = map[string]undo{}
	}
	for id, x := range u.byID {
		if time.Now().After(x.expires) || len(u.byID) >= maxUndos {
			delete(u.byID, id)
		}
	}
	id := rand.Text()
	u.byID[id] = undo{run, time.Now().Add(undoLife)}
	return id
}

func (u *undos) take(id string) func(context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	x, ok := u.byID[id]
	delete(u.byID, id)
	if !ok || time.Now().After(x.expires) {
		return nil
	}
	return x.run
}

func (u *undos) post(r *api.Request) (any, error) {
	run := u.take(r.Param("undo"))
	if run == nil {
		return nil, api.Refuse(http.StatusGone, "gone", i18n.New("it is too late to undo this", "已无法撤销"))
	}
	return nil, run(r.Context())
}
