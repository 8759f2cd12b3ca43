package jsonrpc

import (
	"sync"
	"time"
)

// A Trip measures how long transports carried one call: writing the request,
// the way there and back, reading the answer. A call that is sent twice adds
// both. Its methods do nothing on a nil Trip, so that transports need not ask.
type Trip struct {
	mu      sync.Mutex
	left    time.Time
	carried time.Duration
}

// Leave notes when a transport first took the call, and returns the time.
func (t *Trip) Leave() (now time.Time) {
	if t == nil {
		return now
	}
	now = time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left.IsZero() {
		t.left = now
	}
	return now
}

// Carry adds time in which the call was on its way.
func (t *Trip) Carry(d time.Duration) {
	if t == nil || d <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.carried += d
}

// Left returns when a transport first took the call; zero if none did.
func (t *Trip) Left() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left
}

// Carried returns how long the call was on its way.
func (t *Trip) Carried() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.carried
}
