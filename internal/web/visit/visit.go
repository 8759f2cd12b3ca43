// Package visit tracks whether the console is in use.
package visit

import (
	"sync"
	"time"
)

// A Book counts the visitors of the console: a page or an editor keeps an event
// stream open as long as it is there. The zero Book is ready to use.
type Book struct {
	mu       sync.Mutex
	here     int
	patience time.Duration // 0: Abandoned was not requested
	until    time.Time     // a visitor may still arrive until then
	over     bool
	gone     chan struct{}
}

// coming is the minimum time that a visitor has to arrive, even on a busy
// machine.
const coming = time.Minute

// Abandoned returns a channel that is closed when the console has had no visitor
// for the duration patience, or no visitor arrived at all. If patience is 0, the
// channel is never closed.
func (v *Book) Abandoned(patience time.Duration) <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.patience, v.gone = patience, make(chan struct{})
	v.waitLocked(max(patience, coming))
	return v.gone
}

// Expect gives a visitor that is about to open the console time to arrive; false
// means that the channel of Abandoned is already closed.
func (v *Book) Expect() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.waitLocked(max(v.patience, coming))
	return !v.over
}

// Enter counts a visitor until leave is called.
func (v *Book) Enter() (leave func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.here++
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.here--
		v.waitLocked(v.patience)
	}
}

// waitLocked starts a timer for a visitor to arrive.
func (v *Book) waitLocked(d time.Duration) {
	if v.patience > 0 {
		v.until = time.Now().Add(d)
		time.AfterFunc(d, v.look)
	}
}

// look closes the channel if the time is up and there is no visitor.
func (v *Book) look() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.here == 0 && !v.over && !time.Now().Before(v.until) {
		v.over = true
		close(v.gone)
	}
}
