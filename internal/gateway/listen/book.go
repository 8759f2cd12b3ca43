package listen

import (
	"maps"
	"slices"
	"sync"
)

// A Book has the subscriptions of a session, by the URI that its client used.
type Book[S any] struct {
	mu     sync.Mutex
	closed bool
	held   map[string]*S
}

// Find returns the subscription to uri, or nil, and how many there are in all.
func (b *Book[S]) Find(uri string) (found *S, all int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held[uri], len(b.held)
}

// Put stores one in place of old, which may be nil. It returns false if another one is
// stored now, or if the book is closed.
func (b *Book[S]) Put(uri string, old, one *S) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.held[uri] != old {
		return false
	}
	if b.held == nil {
		b.held = make(map[string]*S)
	}
	b.held[uri] = one
	return true
}

// Take removes a subscription and returns it, or nil.
func (b *Book[S]) Take(uri string) *S {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.held[uri]
	delete(b.held, uri)
	return one
}

// All returns a copy of the book.
func (b *Book[S]) All() map[string]*S {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.held)
}

// Close refuses further subscriptions and returns those there are. first is false if
// it was called before.
func (b *Book[S]) Close() (held []*S, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	held, first = slices.Collect(maps.Values(b.held)), !b.closed
	b.held, b.closed = nil, true
	return held, first
}
