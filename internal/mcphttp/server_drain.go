package mcphttp

import (
	"context"
	"sync"
	"time"

	"mcp-all-in-one/internal/mcp"
)

// lastWord is how long a cancelled handler may take to return.
const lastWord = 5 * time.Second

// ending is the shutdown state of a Server: first it drains, then it is closed.
type ending struct {
	draining    chan struct{} // closed when draining begins
	since       time.Time     // when draining began; set before draining is closed
	closed      chan struct{}
	first, last sync.Once
}

func (e *ending) drain() {
	e.first.Do(func() {
		e.since = time.Now()
		close(e.draining)
	})
}

func (e *ending) close() { e.last.Do(func() { close(e.closed) }) }

func (e *ending) isDraining() bool { return isClosed(e.draining) }

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// Drain ends the streams outside calls, refuses new requests, and lets running
// calls finish until ctx ends. Calls that still run then are cancelled and answered
// with the reason.
func (s *Server) Drain(ctx context.Context) {
	s.ending.drain()
	s.posts.cancel(mcp.CutShort, func(p *post) bool { return p.method == mcp.MethodListen })
	lines := s.table.lines()
	var told sync.WaitGroup
	for _, l := range lines {
		told.Go(func() {
			s.lim.Hits.AddN("drain", l.conn.Drain(ctx, mcp.ShutsDown(), mcp.CutShort))
			l.endInput()
		})
	}
	if s.posts.finished(ctx, lines) {
		return
	}
	s.lim.Hits.AddN("drain", s.posts.len())
	s.posts.cancelAll(mcp.CutShort)
	told.Wait()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer cancel()
	s.posts.finished(grace, lines)
}

// finished waits until no POST runs and all lines are served; it reports false if
// ctx ended first.
func (all *posts) finished(ctx context.Context, lines []*sseLine) bool {
	select {
	case <-all.done():
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

// lines returns the open connections of legacy HTTP+SSE.
func (t *table) lines() (lines []*sseLine) {
	for _, ss := range t.all() {
		if ss.line != nil {
			lines = append(lines, ss.line)
		}
	}
	return lines
}

// Close cancels all calls, ends all sessions and waits for their handlers.
func (s *Server) Close() {
	s.ending.drain()
	s.ending.close()
	s.posts.cancelAll(mcp.CutShort)
	<-s.posts.done()
	s.table.end()
	s.work.Wait()
}
