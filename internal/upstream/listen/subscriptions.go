package listen

import (
	"context"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
)

// A Subscriber hears that a resource or a task was updated. It must be
// comparable.
type Subscriber interface {
	Updated(ctx context.Context, server string, n *jsonrpc.Notification)
}

// Subscriptions are who wants to hear about what, by its id. They outlive the
// connection: the next one is told again.
type Subscriptions struct {
	mu   sync.Mutex
	byID map[string]map[Subscriber]struct{}
}

// Add notes a subscriber; first says that it is the first one of the id.
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

// Remove forgets a subscriber; last says that nobody is left for the id.
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

// IDs are what anybody has subscribed to.
func (s *Subscriptions) IDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.byID))
	for id := range s.byID {
		ids = append(ids, id)
	}
	return ids
}

// Tell tells everybody who subscribed to the id.
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
