package mcphttp

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/traffic"
)

// posts are the POSTs that are being answered. They are spread over several lists
// by session, so that sessions do not contend for a lock or a cache line.
type posts struct {
	parts   [postParts]postList
	cause   atomic.Pointer[error] // once set, new POSTs are cancelled at once
	waiting atomic.Bool           // done was called and idle is not closed yet
	next    atomic.Uint64         // spreads the POSTs outside sessions

	mu   sync.Mutex
	idle chan struct{} // closed when no POST is left; nil if nothing waits for it
}

const postParts = 16

// A postList is one part of the POSTs, oldest first.
type postList struct {
	mu          sync.Mutex
	first, last *post
	n           int
	_           [64]byte // keeps lists on different cache lines
}

// listFor returns the list for a POST. All POSTs of a session are in one list.
func (all *posts) listFor(p *post) *postList {
	if p.session != nil {
		return &all.parts[p.session.number%postParts]
	}
	return &all.parts[all.next.Add(1)%postParts]
}

// within returns a child context of parent for the work of p, and registers p.
func (p *post) within(parent context.Context, m *jsonrpc.Message) context.Context {
	if p.srv.elsewhere != nil { // a session may have begun with the request of another replica
		if from := traffic.From(p.r.Context()); from != traffic.From(parent) {
			parent = traffic.WithFrom(parent, from)
		}
	}
	ctx, cancel := context.WithCancelCause(parent)
	p.cancel, p.method, p.id, p.started = cancel, m.Method, m.ID, time.Since(start)
	p.list = p.srv.posts.listFor(p)
	l := p.list
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.prev = l.last; p.prev != nil {
		p.prev.nextPost = p
	} else {
		l.first = p
	}
	l.last = p
	l.n++
	if why := p.srv.posts.cause.Load(); why != nil {
		cancel(*why)
	}
	return ctx
}

// start is the reference for post.started: time.Since costs half of time.Now.
var start = time.Now()

// end undoes within.
func (p *post) end() {
	p.cancel(nil)
	p.list.remove(p)
	if all := &p.srv.posts; all.waiting.Load() {
		all.tellIdle()
	}
}

func (l *postList) remove(p *post) {
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
}

// cancel cancels the POSTs that match.
func (all *posts) cancel(why error, match func(*post) bool) {
	for i := range all.parts {
		l := &all.parts[i]
		l.mu.Lock()
		for p := l.first; p != nil; p = p.nextPost {
			if match(p) {
				p.cancel(why)
			}
		}
		l.mu.Unlock()
	}
}

// cancelAll cancels all POSTs, also future ones.
func (all *posts) cancelAll(why error) {
	all.cause.Store(&why)
	all.cancel(why, func(*post) bool { return true })
}

// olderThan returns the POSTs that began before t.
func (all *posts) olderThan(t time.Time) (old []*post) {
	before := t.Sub(start)
	for i := range all.parts {
		l := &all.parts[i]
		l.mu.Lock()
		for p := l.first; p != nil && p.started < before; p = p.nextPost {
			old = append(old, p)
		}
		l.mu.Unlock()
	}
	return old
}

// done returns a channel that is closed when no POST is left.
func (all *posts) done() <-chan struct{} {
	all.mu.Lock()
	if all.idle == nil {
		all.idle = make(chan struct{})
		all.waiting.Store(true)
	}
	idle := all.idle
	all.mu.Unlock()
	all.tellIdle()
	return idle
}

// tellIdle closes idle if no POST is left.
func (all *posts) tellIdle() {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.idle != nil && all.len() == 0 {
		close(all.idle)
		all.idle = nil
		all.waiting.Store(false)
	}
}

func (all *posts) len() (n int) {
	for i := range all.parts {
		l := &all.parts[i]
		l.mu.Lock()
		n += l.n
		l.mu.Unlock()
	}
	return n
}
