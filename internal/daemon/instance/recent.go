package instance

import (
	"net"
	"sync"
	"time"

	"mcp-all-in-one/internal/cluster"
)

// Recent counts events of one kind of the last minutes. The zero value has none.
type Recent struct {
	mu   sync.Mutex
	last cluster.Events
}

// recently is how long events are reported after the last one.
const recently = 10 * time.Minute

// Add counts an event.
func (r *Recent) Add(what, from string) {
	if host, _, err := net.SplitHostPort(from); err == nil {
		from = host
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.last.Last) > recently {
		r.last.Count = 0
	}
	r.last = cluster.Events{Count: r.last.Count + 1, What: what, From: from, Last: time.Now()}
}

// Events returns the events of the last minutes; nil for none.
func (r *Recent) Events() *cluster.Events {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.Count == 0 || time.Since(r.last.Last) > recently {
		return nil
	}
	last := r.last
	return &last
}
