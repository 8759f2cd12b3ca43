package upstream

import (
	"context"
	"sync"
)

// close ends every connection and waits until all goroutines and processes of u have ended.
func (u *Upstream) close(ctx context.Context) {
	u.kill()
	u.supervisor.endGrace()
	var wg sync.WaitGroup
	for _, s := range append(u.slots.all(), u.primary) {
		wg.Go(func() { s.close(ctx) })
	}
	wg.Wait()
	u.background.Wait()
	if l := u.primary.link.Load(); l != nil {
		l.close(ctx)
	}
	if c, ok := u.carrier.(interface{ CloseIdleConnections() }); ok && u.opt.Transport == nil {
		c.CloseIdleConnections()
	}
	u.setState(Stopped, errStopped)
}

// Close stops all upstreams in parallel and waits for them.
func (s *Set) Close(ctx context.Context) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	snap := s.current.Load()
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, view := range snap.Schemas {
		for _, u := range view.Upstreams {
			wg.Go(func() { u.close(ctx) })
		}
	}
	wg.Wait()
	s.kill()
	s.draining.Wait()
}
