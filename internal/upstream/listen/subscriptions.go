package listen

import (
	"context"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
)

// A Subscriber is notified of updates of a resource or a task. It must be
// comparable.
type Subscriber interface {
	Updated(ctx context.Context, server string, n *jsonrpc.Notification)
}

// Subscriptions holds the subscribers by the id of a resource or task. It
// outlives the connection; the next connection renews the subscriptions.
type Subscriptions struct {
	mu    sync.Mutex
	byID  map[string]map[Subscriber]struct{}
	turns map[string]*turn // by id
}

// A turn lets requests about one resource follow each other.
type turn struct {
	taken chan struct{} // full while a request has the turn
	users int           // the requests that have the turn or wait for it
}

// Enter waits until the server has answered earlier requests about id. Otherwise it
// might hear of the next first subscriber before it hears that the last one has gone, or
// a second subscriber might rely on what the server refuses the first one.
func (s *Subscriptions) Enter(ctx context.Context, id string) (leave func(), err error) {
	s.mu.Lock()
	t := s.turns[id]
	if t == nil {
		if s.turns == nil {
			s.turns = make(map[string]*turn)
		}
		t = &turn{taken: make(chan struct{}, 1)}
		s.turns[id] = t
	}
	t.users++
	s.mu.Unlock()
	give := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(s.turns, id)
		}
	}
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken; give() }, nil
	case <-ctx.Done():
		give()
		return nil, context.Cause(ctx)
	}
}

// Has reports whether id has subscribers.
func (s *Subscriptions) Has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID[id]) > 0
}

// Add adds a subscriber; first says that it is the first one for the id.
func (s *Subscriptions) Add(id string, who Subscriber) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.byID[id]
	if set == nil {
		if s.byID == nil {
			s.byID = make(map[string]map[Subscriber]struct{})
		}
		set = make(map[Subscriber]struct{})
		s.byID[id] = set
		first = true
	}
	set[who] = struct{}{}
	return first
}

// Remove removes a subscriber; last says that it was the last one for the id.
func (s *Subscriptions) Remove(id string, who Subscriber) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.byID[id]
	if _, ok := set[who]; !ok {
		return false
	}
	delete(set, who)
	if len(set) == 0 {
		delete(s.byID, id)
		return true
	}
	return false
}

// IDs returns the ids that have subscribers.
func (s *Subscriptions) IDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.byID))
	for id := range s.byID {
		ids = append(ids, id)
	}
	return ids
}

// Tell notifies all subscribers of the id.
func (s *Subscriptions) Tell(ctx context.Context, server, id string, n *jsonrpc.Notification) {
	s.mu.Lock()
	var who []Subscriber
	for w := range s.byID[id] {
		who = append(who, w)
	}
	s.mu.Unlock()
	for _, w := range who {
		w.Updated(ctx, server, n)
	}
}
