package rate

import (
	"context"
	"maps"
	"sync"
	"time"
)

const (
	// repeatEvery is how often a replica tells how many sessions it has, even if
	// nothing has changed. A new replica learns it so.
	repeatEvery = 5 * time.Second
	// heldFor is how long that counts. A replica that was lost does not tell it
	// again, and its sessions go on at the others.
	heldFor = 3 * repeatEvery
)

// Held is how many sessions each principal has at one replica.
type Held struct {
	From string         `json:"from"` // address of the replica
	Of   map[string]int `json:"of"`
}

// Sessions are the numbers of sessions that each principal has, here and at the
// other replicas.
type Sessions struct {
	mu      sync.Mutex
	here    map[string]int
	there   map[string]heard // by Held.From
	changed chan struct{}
}

type heard struct {
	of map[string]int
	at time.Time
}

// NewSessions returns Sessions without any.
func NewSessions() *Sessions {
	return &Sessions{here: make(map[string]int), there: make(map[string]heard), changed: make(chan struct{}, 1)}
}

// Count sets how many sessions a principal has here.
func (s *Sessions) Count(who string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.here[who] = n; n == 0 {
		delete(s.here, who)
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Elsewhere returns how many sessions a principal has at other replicas, as far as
// they have told.
func (s *Sessions) Elsewhere(who string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for from, h := range s.there {
		if time.Since(h.at) > heldFor {
			delete(s.there, from)
			continue
		}
		n += h.of[who]
	}
	return n
}

// Hear takes what another replica tells.
func (s *Sessions) Hear(h Held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.there[h.From] = heard{h.Of, time.Now()}
}

// Share tells the other replicas what is here, soon after it has changed and from
// time to time, until ctx ends. No session waits for that: until the others are
// told, each of them may begin as many as one replica alone.
func (s *Sessions) Share(ctx context.Context, send func(map[string]int)) {
	repeat := time.NewTicker(repeatEvery)
	defer repeat.Stop()
	for told := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
			select {
			case <-ctx.Done():
				return
			case <-time.After(shareEvery): // there may be more
			}
		case <-repeat.C:
		}
		s.mu.Lock()
		here := maps.Clone(s.here)
		s.mu.Unlock()
		if len(here) > 0 || told {
			send(here)
		}
		told = len(here) > 0
	}
}
