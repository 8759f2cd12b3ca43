package gateway

import (
	"context"
	"sync"
	"time"

	"mcp-all-in-one/internal/gateway/view"
	"mcp-all-in-one/internal/jsonrpc"
)

// changeDelay collects changes of many servers into one announcement.
const changeDelay = 50 * time.Millisecond

// changes tells clients that their lists changed, when what they see did.
type changes struct {
	gateway *Gateway
	mu      sync.Mutex
	timer   *time.Timer
	pending bool
	stopped bool
	wg      sync.WaitGroup
}

// Changed notes that something upstream changed. It never blocks.
func (g *Gateway) Changed() {
	c := &g.changes
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending || c.stopped {
		return
	}
	c.pending = true
	c.wg.Add(1)
	c.timer = time.AfterFunc(changeDelay, c.announce)
}

func (c *changes) announce() {
	defer c.wg.Done()
	c.mu.Lock()
	c.pending = false
	stopped := c.stopped
	c.mu.Unlock()
	if stopped {
		return
	}
	g := c.gateway
	g.mu.Lock()
	sessions := make([]*Session, 0, len(g.sessions))
	for s := range g.sessions {
		sessions = append(sessions, s)
	}
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), announceWait)
	defer cancel()
	for _, s := range sessions {
		s.announce(ctx)
	}
	g.listeners.announce(ctx)
}

const announceWait = 5 * time.Second

func (c *changes) stop() {
	c.mu.Lock()
	c.stopped = true
	if c.timer != nil && c.timer.Stop() && c.pending {
		c.pending = false
		c.wg.Done()
	}
	c.mu.Unlock()
	c.wg.Wait()
}

// announce tells one session which of its lists changed since it was last
// told. A session that has seen no list yet has nothing to hear.
func (s *Session) announce(ctx context.Context) {
	s.mu.Lock()
	was := s.announced
	ready := s.initialized && !s.closed
	s.mu.Unlock()
	if !ready || was == nil {
		return
	}
	now := s.look()
	s.mu.Lock()
	s.announced = now
	s.mu.Unlock()
	for _, method := range view.Changed(was, now, s.listView) {
		s.opening.Client.Notify(ctx, &jsonrpc.Notification{Method: method})
	}
}

// remember notes what a session was shown, the first time.
func (s *Session) remember(v *view.View) {
	s.mu.Lock()
	if s.announced == nil {
		s.announced = v
	}
	s.mu.Unlock()
}
