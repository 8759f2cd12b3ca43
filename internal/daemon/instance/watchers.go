package instance

import (
	"sync"
	"time"
)

// watchers are notified of changes, a moment later and never concurrently.
type watchers struct {
	mu      sync.Mutex
	list    []func()
	pending bool
	stopped bool
	running sync.WaitGroup
}

// watchDelay combines the changes of many servers into one notification.
const watchDelay = 100 * time.Millisecond

func (w *watchers) Add(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, f)
}

func (w *watchers) changed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending || w.stopped || len(w.list) == 0 {
		return
	}
	w.pending = true
	w.running.Add(1)
	time.AfterFunc(watchDelay, w.tell)
}

func (w *watchers) tell() {
	defer w.running.Done()
	w.mu.Lock()
	w.pending = false
	list := w.list
	w.mu.Unlock()
	for _, f := range list {
		f()
	}
}

func (w *watchers) stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.running.Wait()
}
