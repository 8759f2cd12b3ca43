package mcphttp

import (
	"context"
	"fmt"
	"sync"
)

// A table holds the sessions by id. The ids are secret.
type table struct {
	mu       sync.RWMutex
	byID     map[string]*session
	of       map[string]int                // sessions by principal, including reserved ones
	count    func(principal string, n int) // told of each change of that; may be nil
	reserved int                           // sessions that are about to be added
	ended    bool                          // no more sessions are added
	// live counts the sessions from their reservation until their handlers are
	// closed.
	live sync.WaitGroup
}

// get returns the session with that id if it belongs to principal and its handler
// takes requests with that context. It does not distinguish an unknown id from a
// session of another principal.
func (t *table) get(ctx context.Context, id, principal string) *session {
	t.mu.RLock()
	ss := t.byID[id]
	t.mu.RUnlock()
	if ss == nil || ss.principal != principal {
		return nil
	}
	if h, ok := ss.handler.(interface{ MayResume(context.Context) bool }); ok && !h.MayResume(ctx) {
		return nil
	}
	return ss
}

// reserve reserves a place for a session of principal, which has others at other
// replicas. If there is none, it returns the reason.
func (t *table) reserve(principal string, lim *ServerLimits, others int) (full string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended:
		return "this server is stopping"
	case len(t.byID)+t.reserved >= lim.Sessions:
		lim.Hits.Add("sessions")
		return "too many sessions"
	case lim.bound(principal) && t.of[principal]+others >= lim.PerPrincipal:
		lim.Hits.Add("sessionsPerKey")
		return fmt.Sprintf("this key has %d sessions, its share of %d: end some, or set limits.sessionsPerKey", lim.PerPrincipal, lim.Sessions)
	}
	t.reserved++
	t.moreOfLocked(principal, 1)
	t.live.Add(1)
	return ""
}

func (t *table) moreOfLocked(principal string, n int) {
	if t.of[principal] += n; t.count != nil {
		t.count(principal, t.of[principal])
	}
	if t.of[principal] == 0 {
		delete(t.of, principal)
	}
}

// add fills a reserved place; release returns a place unused. Once the table has
// ended, add closes the session instead.
func (t *table) add(ss *session) {
	if !t.put(ss) {
		ss.close(errShutDown)
	}
}

func (t *table) put(ss *session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reserved--
	t.byID[ss.id] = ss // close removes it
	return !t.ended
}

func (t *table) release(principal string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reserved--
	t.moreOfLocked(principal, -1)
}

func (t *table) remove(ss *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID[ss.id] == ss {
		delete(t.byID, ss.id)
		t.moreOfLocked(ss.principal, -1)
	}
}

// end closes all sessions and waits until their handlers are closed. No session can
// be reserved after that.
func (t *table) end() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	for _, ss := range t.all() {
		ss.close(errShutDown)
	}
	t.live.Wait()
}

func (t *table) all() []*session {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := make([]*session, 0, len(t.byID))
	for _, ss := range t.byID {
		list = append(list, ss)
	}
	return list
}

// CloseSessionsOf ends all sessions, streams and calls of principal.
func (s *Server) CloseSessionsOf(principal string) {
	s.posts.cancel(ErrSessionEnded, func(p *post) bool { return p.principal == principal })
	for _, ss := range s.table.all() {
		if ss.principal == principal {
			ss.close(ErrSessionEnded)
		}
	}
}

// ServerStats are the counters of a Server.
type ServerStats struct {
	Sessions int
	InFlight int   // POSTs being answered
	Dropped  int64 // messages that reached no client, and responses without a request
	CutOff   int64 // streams closed because the client did not read
}

// Stats returns the current counts.
func (s *Server) Stats() ServerStats {
	s.table.mu.RLock()
	n := len(s.table.byID)
	s.table.mu.RUnlock()
	return ServerStats{
		Sessions: n,
		InFlight: s.posts.len(),
		Dropped:  s.dropped.Load(),
		CutOff:   s.cutOff.Load(),
	}
}
