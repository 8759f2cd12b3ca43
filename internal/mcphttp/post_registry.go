package mcphttp

import (
	"context"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// posts are the POSTs being answered, oldest first.
type posts struct {
	mu          sync.Mutex
	first, last *post
	n           int
	cause       error         // once set, what begins is cancelled at once
	idle        chan struct{} // closed when n falls to 0; nil while nobody waits
}

// within makes the context of what p runs a child of parent, and registers p.
func (p *post) within(parent context.Context, m *jsonrpc.Message) context.Context {
	ctx, stop := context.WithCancelCause(parent)
	p.stop = stop
	p.begin(m)
	return ctx
}

// cancel ends what p runs.
func (p *post) cancel(why error) {
	if p.stop != nil {
		p.stop(why)
		return
	}
	p.ctx.End(why)
}

// begin registers p, which has its context.
func (p *post) begin(m *jsonrpc.Message) {
	p.method, p.id, p.started = m.Method, m.ID, time.Now()
	l := &p.srv.posts
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.prev = l.last; p.prev != nil {
		p.prev.nextPost = p
	} else {
		l.first = p
	}
	l.last = p
	l.n++
	if l.cause != nil {
		p.cancel(l.cause)
	}
}

// end is the counterpart of begin.
func (p *post) end() {
	p.cancel(nil)
	l := &p.srv.posts
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.prev != nil {
		p.prev.nextPost = p.nextPost
	} else {
		l.first = p.nextPost
	}
	if p.nextPost != nil {
		p.nextPost.prev = p.prev
	} else {
		l.last = p.prev
	}
	l.n--
	if l.n == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// cancel ends the contexts of those that match.
func (l *posts) cancel(why error, match func(*post) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := l.first; p != nil; p = p.nextPost {
		if match(p) {
			p.cancel(why)
		}
	}
}

// cancelAll ends the contexts of all that are there and of all that come.
func (l *posts) cancelAll(why error) {
	l.mu.Lock()
	l.cause = why
	l.mu.Unlock()
	l.cancel(why, func(*post) bool { return true })
}

// olderThan returns those that began before t.
func (l *posts) olderThan(t time.Time) (old []*post) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := l.first; p != nil && p.started.Before(t); p = p.nextPost {
		old = append(old, p)
	}
	return old
}

// done returns a channel that is closed when none is left.
func (l *posts) done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle == nil {
		l.idle = make(chan struct{})
		if l.n == 0 {
			close(l.idle)
			defer func() { l.idle = nil }()
		}
	}
	return l.idle
}

func (l *posts) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}
