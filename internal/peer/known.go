package peer

import (
	"strings"
	"sync"
)

// maxRecent bounds how much of one kind is remembered.
const maxRecent = 10_000

// A recent remembers what can be found again by a text.
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

// find is get where that is possible, and else what read makes of the text.
func (r *recent[V]) find(text string, read func(string) (V, bool)) (V, bool) {
	if v, ok := r.get(text); ok {
		return v, true
	}
	v, ok := read(text)
	if ok {
		r.put(strings.Clone(text), v) // it may be a part of a larger one
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
		delete(r.by, old) // any
	}
	r.by[text] = v
}

// restoring is the sessions that begin again here just now, each once.
type restoring struct {
	mu sync.Mutex
	by map[string]*turn
}

type turn struct {
	sync.Mutex
	waiting int
}

// enter waits for others that restore the same session. The function that it
// returns lets the next one in.
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
