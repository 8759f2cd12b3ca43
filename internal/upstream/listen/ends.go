package listen

import (
	"context"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/queue"
)

const (
	// maxWorkers is how many requests for which no client waits go to a server at once,
	// and maxShare how many of them for one principal: if they hang, there are places
	// for those of others. Each may take shortWait.
	maxWorkers = 16
	maxShare   = maxWorkers / 2
	shortWait  = 5 * time.Second
	// maxEnds bounds the memory of the topics that wait for a slow server. Each takes
	// about topicSize and its id.
	maxEnds   = 32 << 20
	topicSize = 512
)

// place waits for a place for a request, and returns a function to call after it; nil if
// ctx has ended.
func (s *Subscriptions) place(ctx context.Context) (leave func()) {
	s.mu.Lock()
	if s.places == nil {
		s.places = queue.NewSemaphore(maxWorkers)
	}
	places := s.places
	s.mu.Unlock()
	if places.Acquire(ctx) != nil {
		return nil
	}
	return places.Release
}

// settle forgets a topic without subscribers, and has the server told if it watches it.
// The caller holds the mutex.
func (s *Subscriptions) settle(id string, t *topic, ask Ask) {
	switch {
	case len(t.who) > 0 || t.asking != nil || t.leaving != nil:
	case (t.told || t.doubt) && s.ends.push(t.last, id):
		t.leaving = s.request(mcp.MethodUnsubscribe)
		if l := s.ends.by[t.last]; l.workers < maxShare {
			l.workers++
			go s.end(t.last, l, ask)
		}
	default:
		delete(s.byID, id)
	}
}

// ends are the topics that a server need not watch any more, by the principal whose
// subscriber was the last.
type ends struct {
	by   map[string]*line
	size int
}

// A line has the topics of one principal.
type line struct {
	ids     []string
	workers int
}

func (e *ends) push(principal, id string) bool {
	if e.size+topicSize+len(id) > maxEnds {
		return false
	}
	l := e.by[principal]
	if l == nil {
		if e.by == nil {
			e.by = make(map[string]*line)
		}
		l = new(line)
		e.by[principal] = l
	}
	l.ids, e.size = append(l.ids, id), e.size+topicSize+len(id)
	return true
}

func (e *ends) pop(l *line) (id string) {
	id, l.ids = l.ids[0], l.ids[1:]
	e.size -= topicSize + len(id)
	return id
}

// end tells the server which topics of a principal it need not watch any more.
func (s *Subscriptions) end(principal string, l *line, ask Ask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(l.ids) > 0 {
		s.mu.Unlock()
		leave := s.place(context.Background())
		s.mu.Lock()
		if len(l.ids) > 0 {
			s.endOne(s.ends.pop(l), ask)
		}
		leave()
	}
	if l.workers--; l.workers == 0 {
		delete(s.ends.by, principal)
	}
}

// endOne tells the server that it need not watch a topic any more. The caller holds the
// mutex, which is unlocked while the server is asked.
func (s *Subscriptions) endOne(id string, ask Ask) {
	t := s.byID[id]
	if t == nil || t.leaving == nil {
		return
	}
	r := t.leaving
	t.leaving = nil
	if len(t.who) > 0 || t.asking != nil || !t.told && !t.doubt { // there is a subscriber again, or a new connection
		r.resp = empty()
		close(r.done)
		s.settle(id, t, ask)
		return
	}
	t.asking, t.told = r, false
	s.mu.Unlock()
	s.runShort(context.Background(), id, t, r, ask)
	s.mu.Lock()
}
