package lists

import (
	"sync"
	"time"
)

// refreshDelay collects bursts of list_changed.
const refreshDelay = 50 * time.Millisecond

// A Refresher fetches lists again after the server said that they changed.
type Refresher struct {
	// Fetch fetches lists. No two run at the same time.
	Fetch func(which Kind)

	mu      sync.Mutex
	dirty   Kind
	running bool
	loaded  bool // the first load is over
	stopped bool
	timer   *time.Timer
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
	if r.dirty == 0 || r.running || r.stopped || !r.loaded {
		return
	}
	r.running = true
	r.timer = time.AfterFunc(refreshDelay, r.run)
}

func (r *Refresher) run() {
	r.mu.Lock()
	which := r.dirty
	r.dirty = 0
	stopped := r.stopped
	r.mu.Unlock()
	if !stopped {
		r.Fetch(which)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = r.dirty != 0 && !r.stopped
	if r.running {
		r.timer = time.AfterFunc(refreshDelay, r.run)
	}
}

// Stop lets nothing be fetched any more.
func (r *Refresher) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	if r.timer != nil {
		r.timer.Stop()
	}
}
