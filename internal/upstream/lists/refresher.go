package lists

import (
	"context"
	"sync"
	"time"
)

// refreshDelay is how long list_changed notifications are collected before a
// fetch.
const refreshDelay = 50 * time.Millisecond

// A Refresher fetches lists again after the server said that they changed.
type Refresher struct {
	fetch  func(ctx context.Context, which Kind)
	ctx    context.Context
	cancel context.CancelFunc
	over   sync.WaitGroup // waits for the pending timer or the running fetch

	mu      sync.Mutex
	dirty   Kind
	running bool
	loaded  bool // the first load has finished
	timer   *time.Timer
}

// NewRefresher returns a Refresher that calls fetch until Stop. Calls of fetch
// never overlap.
func NewRefresher(fetch func(ctx context.Context, which Kind)) *Refresher {
	r := &Refresher{fetch: fetch}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Mark records that lists changed. They are fetched after refreshDelay, once for
// a whole burst.
func (r *Refresher) Mark(k Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirty |= k
	r.armLocked()
}

// Start enables refreshing after the first load. Lists that changed during the
// load are fetched again.
func (r *Refresher) Start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loaded = true
	r.armLocked()
}

func (r *Refresher) armLocked() {
	if r.dirty == 0 || r.running || r.ctx.Err() != nil || !r.loaded {
		return
	}
	r.running = true
	r.over.Add(1)
	r.timer = time.AfterFunc(refreshDelay, r.run)
}

func (r *Refresher) run() {
	defer r.over.Done()
	r.mu.Lock()
	which := r.dirty
	r.dirty = 0
	r.mu.Unlock()
	if r.ctx.Err() == nil {
		r.fetch(r.ctx, which)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = false
	r.armLocked()
}

// Stop prevents further fetches and cancels the running one.
func (r *Refresher) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel()
	if r.timer != nil && r.timer.Stop() {
		r.over.Done()
	}
}

// Wait waits until the fetch that was running at Stop has returned.
func (r *Refresher) Wait() { r.over.Wait() }
