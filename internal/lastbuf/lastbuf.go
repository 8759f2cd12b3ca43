// Package lastbuf keeps the large piece of memory that was given back last: large
// answers come one after the other, and each would leave its own to the collector.
package lastbuf

import (
	"sync"
	"weak"
)

// A Last is what was given back last, until the next collection.
type Last[T any] struct {
	mu   sync.Mutex
	last weak.Pointer[T]
}

// Take returns it; nil when there is none.
func (l *Last[T]) Take() *T {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.last.Value()
	l.last = weak.Pointer[T]{}
	return v
}

// Give gives v back, which nobody uses any more.
func (l *Last[T]) Give(v *T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = weak.Make(v)
}
