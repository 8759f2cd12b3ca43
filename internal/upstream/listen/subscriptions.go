package listen

import (
	"context"
	"slices"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/upstream/queue"
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
	byID  map[string]*topic
	epoch int // grows with each connection
	begun int // counts the topics
	ends  ends
	// places are for requests for which no client waits.
	places queue.Semaphore
}

// A topic is a resource or a task with subscribers, or one that the server has been told
// to watch.
type topic struct {
	order   int // of its beginning among the topics
	who     map[Subscriber]subscribed
	last    string   // the principal whose subscriber left last
	told    bool     // the server watches it
	doubt   bool     // it may, because its answer is not known
	asking  *request // the one in progress; nil if there is none
	leaving *request // queued in ends; nil if it is not
}

// subscribed is how often a subscriber of a principal has subscribed.
type subscribed struct {
	principal string
	times     int
}

// add adds a subscriber of a principal. The caller holds the mutex.
func (s *Subscriptions) add(principal, id string, who Subscriber) (t *topic, first bool) {
	t = s.byID[id]
	if t == nil {
		if s.byID == nil {
			s.byID = make(map[string]*topic)
		}
		s.begun++
		t = &topic{order: s.begun, who: make(map[Subscriber]subscribed)}
		s.byID[id] = t
	}
	times := t.who[who].times + 1
	t.who[who] = subscribed{principal, times}
	return t, len(t.who) == 1 && times == 1
}

// remove undoes add. The caller holds the mutex.
func (s *Subscriptions) remove(id string, who Subscriber) (t *topic, last bool) {
	t = s.byID[id]
	if t == nil || t.who[who].times == 0 {
		return nil, false
	}
	left := t.who[who]
	left.times--
	if t.who[who] = left; left.times == 0 {
		delete(t.who, who)
		t.last = left.principal
	}
	return t, len(t.who) == 0
}

// Add adds a subscriber; first says that it is the first one for the id.
func (s *Subscriptions) Add(id string, who Subscriber) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, first = s.add("", id, who)
	return first
}

// Remove undoes Add; last says that it was the last subscriber for the id.
func (s *Subscriptions) Remove(id string, who Subscriber) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, last = s.remove(id, who); last {
		delete(s.byID, id)
	}
	return last
}

// IDs returns the ids that have subscribers, the oldest first, so that a server that
// takes only so many drops the latest.
func (s *Subscriptions) IDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.byID))
	for id, t := range s.byID {
		if len(t.who) > 0 {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return s.byID[a].order - s.byID[b].order })
	return ids
}

// Tell notifies all subscribers of the id.
func (s *Subscriptions) Tell(ctx context.Context, server, id string, n *jsonrpc.Notification) {
	s.mu.Lock()
	var who []Subscriber
	if t := s.byID[id]; t != nil {
		for w := range t.who {
			who = append(who, w)
		}
	}
	s.mu.Unlock()
	for _, w := range who {
		w.Updated(ctx, server, n)
	}
}
