// Package visit knows whether somebody is at the console.
package visit

import (
	"sync"
	"time"
)

// A Book has who is at the console: a page or an editor keeps an event stream
// open for as long as it is there. The zero Book is ready to use.
type Book struct {
	mu       sync.Mutex
	here     int
	patience time.Duration // 0: nobody wants to know
	until    time.Time     // how long somebody may still come
	over     bool
	gone     chan struct{}
}

// coming is how long somebody may be on the way at least, on a busy machine too.
const coming = time.Minute

// Abandoned is closed that long after the last one has left the console, or when
// nobody came. With no time it never is.
func (v *Book) Abandoned(patience time.Duration) <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.patience, v.gone = patience, make(chan struct{})
	v.waitLocked(max(patience, coming))
	return v.gone
}

// Expect gives somebody who is on the way to the console the time to come; false
// says that it is too late.
func (v *Book) Expect() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.waitLocked(max(v.patience, coming))
	return !v.over
}

// Enter notes that somebody came, until leave is called.
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

// waitLocked waits from now on for somebody to come.
func (v *Book) waitLocked(d time.Duration) {
	if v.patience > 0 {
		v.until = time.Now().Add(d)
		time.AfterFunc(d, v.look)
	}
}

// look says that it is over when the time is up and nobody is here.
func (v *Book) look() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.here == 0 && !v.over && !time.Now().Before(v.until) {
		v.over = true
		close(v.gone)
	}
}
