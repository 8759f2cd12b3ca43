package mcphttp

import (
	"context"
	"sync"
	"time"

	"mcp-all-in-one/internal/mcp"
)

// lastWord is how long a cancelled handler may take to give up.
const lastWord = 5 * time.Second

// Drain ends the streams outside calls, refuses what is new, and lets what is
// in flight finish until ctx ends; what is left then is cancelled and answered
// with the reason.
func (s *Server) Drain(ctx context.Context) {
	s.beginDrain()
	s.posts.cancel(ErrDraining, func(p *post) bool { return p.method == mcp.MethodListen })
	lines := s.lines()
	var told sync.WaitGroup
	for _, l := range lines {
		told.Go(func() {
			s.lim.Hits.AddN("drain", l.conn.Drain(ctx, draining()))
			l.endInput()
		})
	}
	if s.finished(ctx, lines) {
		return
	}
	told.Wait()
	s.lim.Hits.AddN("drain", s.posts.len())
	s.posts.cancelAll(ErrDraining)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer cancel()
	s.finished(grace, lines)
}

// finished waits for all that is in flight; false means that ctx ended first.
func (s *Server) finished(ctx context.Context, lines []*sseLine) bool {
	select {
	case <-s.posts.done():
	case <-ctx.Done():
		return false
	}
	for _, l := range lines {
		select {
		case <-l.served:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// lines are the open connections of legacy HTTP+SSE.
func (s *Server) lines() (lines []*sseLine) {
	for _, ss := range s.table.all() {
		if ss.line != nil {
			lines = append(lines, ss.line)
		}
	}
	return lines
}

// Close cancels all that runs, ends all sessions and waits for their handlers.
func (s *Server) Close() {
	s.beginDrain()
	s.end.Do(func() { close(s.closed) })
	s.posts.cancelAll(ErrDraining)
	<-s.posts.done()
	s.table.end()
	s.work.Wait()
}
