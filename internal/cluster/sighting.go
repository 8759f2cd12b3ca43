package cluster

import (
	"net"
	"sync"
	"time"
)

// A Sighting describes events of one kind.
type Sighting struct {
	Count int       `json:"count"`
	What  string    `json:"what,omitempty"` // of the last one
	From  string    `json:"from"`           // address of the last one, without its port
	Last  time.Time `json:"last"`
}

// A Lookout counts events of one kind. The zero value has seen none.
type Lookout struct {
	mu   sync.Mutex
	seen Sighting
}

// recently is how long events are reported after the last one.
const recently = 10 * time.Minute

// Note counts an event.
func (l *Lookout) Note(what, from string) {
	if host, _, err := net.SplitHostPort(from); err == nil {
		from = host
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.seen.Last) > recently {
		l.seen.Count = 0
	}
	l.seen = Sighting{l.seen.Count + 1, what, from, time.Now()}
}

// Recent returns the events of the last minutes; nil for none.
func (l *Lookout) Recent() *Sighting {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen.Count == 0 || time.Since(l.seen.Last) > recently {
		return nil
	}
	seen := l.seen
	return &seen
}
