package upstream

import (
	"context"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/upstream/backoff"
	"mcp-all-in-one/internal/upstream/listen"
	"mcp-all-in-one/internal/upstream/project"
)

// A slot is a place for a connection. It holds the current connection, if any, and the
// subscriptions that the next connection must renew.
type slot struct {
	up *connections
	// exclusive says that only one client at a time uses the connection.
	exclusive bool
	// exact says that each client of the connection offers exactly what the connection
	// offers.
	exact bool
	// pooled says that clients share the slot on demand. users counts the calls that use
	// it; used is the time when the last call ended.
	pooled bool
	users  atomic.Int64
	used   atomic.Int64
	// project is the project of the slot's clients; nil if the project does not matter. The
	// sessions among them are guests until they end or move to another project. The lock of
	// slots guards guests.
	project *project.Project
	guests  map[*Caller]bool
	// holder is the principal whose project it is; empty without a project.
	holder string
	// user is the user whose sign-in and values the connection uses; empty for the one that
	// all users share.
	user string
	// session is the client that owns the slot for good. In stdio mode it is set later than
	// the slot, because the process starts first.
	session atomic.Pointer[Caller]

	link     atomic.Pointer[link]
	features atomic.Pointer[catalog.Features]
	subs     listen.Subscriptions // of resources, by URI
	tasks    listen.Subscriptions // of tasks of the modern era, by id

	mu     sync.Mutex
	closed bool
	dial   *dialing
}

// A dialing is one attempt to fill a slot. Several callers may wait for it.
type dialing struct {
	done chan struct{}
	link *link
	err  error
}

func (s *slot) owner() *Caller { return s.session.Load() }

// current returns the connection if it is alive.
func (s *slot) current() *link {
	if l := s.link.Load(); l != nil && l.alive() {
		return l
	}
	return nil
}

// clean reports whether any other client may use the connection next.
func (s *slot) clean() bool { l := s.current(); return l == nil || l.calls.Clean() }

// get returns the connection. If there is none, it opens one. It is for slots that are
// filled on demand; the supervisor fills the primary one.
func (s *slot) get(ctx context.Context, sp spec) (*link, error) {
	if l := s.current(); l != nil {
		return l, nil
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errStopped
	}
	d := s.dial
	if d == nil {
		d = &dialing{done: make(chan struct{})}
		s.dial = d
		// The attempt outlives the caller that began it, because others may wait for it.
		s.up.background.Go(func() { s.fill(d, sp) })
	}
	s.mu.Unlock()
	select {
	case <-d.done:
		return d.link, d.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *slot) fill(d *dialing, sp spec) {
	l, err := dialer{up: s.up, slot: s, spec: sp}.open(s.up.life)
	s.mu.Lock()
	s.dial = nil
	closed := s.closed
	if err == nil && !closed {
		s.link.Store(l)
	}
	s.mu.Unlock()
	if err == nil && closed {
		l.close(s.up.life)
		l, err = nil, errStopped
	}
	if err == nil {
		s.up.background.Go(func() { s.revive(l, sp) })
		if !s.exclusive || s.owner() != nil { // a leased one does not change the lists
			s.up.changed()
		}
	}
	d.link, d.err = l, err
	close(d.done)
}

// revive cleans up after a connection that has ended. If there are subscriptions, it opens
// the next connection, because the next call may be far off.
func (s *slot) revive(l *link, sp spec) {
	select {
	case <-l.done:
	case <-s.up.life.Done():
		s.up.farewell(l)
		return
	}
	l.close(s.up.life)
	for tries := 0; len(s.subs.IDs())+len(s.tasks.IDs()) > 0 && s.up.Config().Restart; tries++ {
		if backoff.Wait(s.up.life, backoff.Jitter(min(s.up.Config().RestartDelay, backoff.Base<<min(tries, 16)))) != nil {
			return
		}
		s.mu.Lock()
		closed := s.closed
		s.mu.Unlock()
		if closed {
			return
		}
		if _, err := s.get(s.up.life, sp); err == nil {
			return
		}
	}
}

// end closes, in the background, a slot that was removed from slots.
func (s *slot) end() { s.up.background.Go(func() { s.close(s.up.life) }) }

// close ends the connection and makes get fail from now on.
func (s *slot) close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	d := s.dial
	s.mu.Unlock()
	if d != nil {
		select {
		case <-d.done:
		case <-ctx.Done():
		}
	}
	if l := s.link.Load(); l != nil {
		l.close(ctx)
	}
}
