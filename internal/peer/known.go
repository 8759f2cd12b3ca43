package peer

import "sync"

// maxMoved bounds how many sessions are remembered that moved.
const maxMoved = 10_000

// moved is where sessions are that their ids do not say.
type moved struct {
	mu sync.Mutex
	by map[string]Owner
}

func (m *moved) get(id string) (Owner, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.by[id]
	return o, ok
}

func (m *moved) put(id string, o Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = make(map[string]Owner)
	}
	for old := range m.by {
		if len(m.by) < maxMoved {
			break
		}
		delete(m.by, old) // any: it is found again
	}
	m.by[id] = o
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
