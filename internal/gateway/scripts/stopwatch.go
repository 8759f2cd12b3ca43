package scripts

import (
	"sync"
	"time"
)

// A stopwatch ends something after a duration, not counting pauses.
type stopwatch struct {
	mu    sync.Mutex
	left  time.Duration
	since time.Time
	held  int // number of open pauses
	timer *time.Timer
}

func newStopwatch(limit time.Duration, end func()) *stopwatch {
	return &stopwatch{left: limit, since: time.Now(), timer: time.AfterFunc(limit, end)}
}

// pause stops the clock until the returned function is called.
func (w *stopwatch) pause() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held++; w.held == 1 && w.timer.Stop() {
		w.left -= time.Since(w.since)
	}
	return sync.OnceFunc(w.resume)
}

func (w *stopwatch) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held--; w.held == 0 {
		w.since = time.Now()
		w.timer.Reset(max(w.left, 0))
	}
}

func (w *stopwatch) stop() { w.timer.Stop() }
