package lists

import (
	"context"
	"sync"
	"time"
)

// refreshDelay collects bursts of list_changed.
const refreshDelay = 50 * time.Millisecond

// A Refresher fetches lists again after the server said that they changed.
type Refresher struct {
	fetch  func(ctx context.Context, which Kind)
	ctx    context.Context
	cancel context.CancelFunc
	over   sync.WaitGroup // of the timer that runs, or what it runs

	mu      sync.Mutex
	dirty   Kind
	running bool
	loaded  bool // the first load is over
	timer   *time.Timer
}

// NewRefresher returns one that fetches lists by fetch, until Stop. No two run at
// the same time.
func NewRefresher(fetch func(ctx context.Context, which Kind)) *Refresher {
	r := &Refresher{fetch: fetch}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Mark notes that lists changed; they are fetched a moment later, once for a
// whole burst.
func (r *Refresher) Mark(k Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirty |= k
	r.armLocked()
}

// Start lets what changed during the first load be fetched again.
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

// Stop lets nothing be fetched any more.
func (r *Refresher) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel()
	if r.timer != nil && r.timer.Stop() {
		r.over.Done()
	}
}

// Wait waits until what was being fetched at Stop is over.
func (r *Refresher) Wait() { r.over.Wait() }
