package upstream

import (
	"context"
	"strings"
	"sync"

	"mcp-all-in-one/internal/i18n"
)

// A MissingError names the variables that an entry needs and that are not
// set.
type MissingError struct{ Names []string }

func (e *MissingError) Error() string { return e.In(i18n.English) }

// In says it in a language.
func (e *MissingError) In(l i18n.Lang) string {
	return i18n.New("not set: %s", "未定义的变量：%s", strings.Join(e.Names, ", ")).In(l)
}

// close ends every connection and waits until nothing of ours runs.
func (u *Upstream) close(ctx context.Context) {
	u.kill()
	u.mu.Lock()
	if u.grace != nil {
		u.grace.Stop()
	}
	slots := []*slot{u.primary}
	for _, s := range u.slots {
		slots = append(slots, s)
	}
	for _, free := range u.leases {
		slots = append(slots, free...)
	}
	u.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range slots {
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

// Close stops all upstreams at once and waits for them.
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
