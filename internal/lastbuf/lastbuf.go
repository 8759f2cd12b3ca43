// Package lastbuf keeps the last large buffer for reuse. Large answers come one
// after the other, and each would otherwise leave a buffer to the garbage
// collector.
package lastbuf

import (
	"sync"
	"weak"
)

// A Last keeps the last buffer until the next garbage collection.
type Last[T any] struct {
	mu   sync.Mutex
	last weak.Pointer[T]
}

// Take removes and returns the buffer; nil if there is none.
func (l *Last[T]) Take() *T {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.last.Value()
	l.last = weak.Pointer[T]{}
	return v
}

// Give stores v. The caller must not use it afterwards.
func (l *Last[T]) Give(v *T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = weak.Make(v)
}
