package peer

import (
	"strings"
	"sync"
)

// maxRecent bounds the entries of a recent.
const maxRecent = 10_000

// A recent is a bounded cache with text keys.
type recent[V any] struct {
	mu sync.RWMutex
	by map[string]V
}

func (r *recent[V]) get(text string) (V, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	v, ok := r.by[text]
	return v, ok
}

// find returns the cached value. If there is none, it calls read and caches the
// result.
func (r *recent[V]) find(text string, read func(string) (V, bool)) (V, bool) {
	if v, ok := r.get(text); ok {
		return v, true
	}
	v, ok := read(text)
	if ok {
		r.put(strings.Clone(text), v) // text may be a substring of a larger string
	}
	return v, ok
}

func (r *recent[V]) put(text string, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = make(map[string]V)
	}
	for old := range r.by {
		if len(r.by) < maxRecent {
			break
		}
		delete(r.by, old) // any entry
	}
	r.by[text] = v
}

// restoring holds the sessions that are being restored here, so that each is
// restored once.
type restoring struct {
	mu sync.Mutex
	by map[string]*turn
}

type turn struct {
	sync.Mutex
	waiting int
}

// enter waits for other requests that restore the same session. The caller must
// call leave.
func (r *restoring) enter(id string) (leave func()) {
	r.mu.Lock()
	if r.by == nil {
		r.by = make(map[string]*turn)
	}
	t := r.by[id]
	if t == nil {
		t = &turn{}
		r.by[id] = t
	}
	t.waiting++
	r.mu.Unlock()
	t.Lock()
	return func() {
		t.Unlock()
		r.mu.Lock()
		defer r.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(r.by, id)
		}
	}
}

func (r *restoring) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.by[id] != nil
}
