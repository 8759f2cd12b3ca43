package jsonrpc

import (
	"sync"
	"time"
)

// A Trip measures how long transports carried one call: writing the request,
// the transfer in both directions, reading the answer. If a call is sent twice,
// both times are added. Leave and Carry do nothing on a nil Trip, so transports
// need not check for nil.
type Trip struct {
	// Version is the protocol version of the connection that was used.
	Version string

	mu      sync.Mutex
	left    time.Time
	carried time.Duration
}

// Leave records when a transport first took the call, and returns the current
// time.
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

// Carry adds time during which the call was in transit.
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

// Carried returns how long the call was in transit.
func (t *Trip) Carried() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.carried
}
