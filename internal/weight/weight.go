// Package weight counts the memory that each principal occupies: with bodies that
// have not arrived whole, with large requests until they are answered, and with what
// its sessions keep.
package weight

import (
	"fmt"
	"sync"
)

// Large is the size from which a request counts. Smaller ones are bounded by their
// number, and must cost no time.
const Large = 8 << 10

// A Book holds the counts. The zero value is ready to use.
type Book struct {
	mu sync.Mutex
	of map[string]int64
}

// Take counts n more bytes for a principal; n may be negative. It reports false, and
// counts nothing, if the principal would then have more than most.
func (b *Book) Take(who string, n, most int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > 0 && b.of[who]+n > most {
		return false
	}
	b.addLocked(who, n)
	return true
}

// Give counts n bytes less.
func (b *Book) Give(who string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addLocked(who, -n)
}

func (b *Book) addLocked(who string, n int64) {
	if b.of == nil {
		b.of = make(map[string]int64)
	}
	if b.of[who] += n; b.of[who] == 0 {
		delete(b.of, who)
	}
}

// Of returns the bytes that count for a principal.
func (b *Book) Of(who string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of[who]
}

// A Tab counts the bytes that a session keeps until it ends. The zero value is ready
// to use.
type Tab struct {
	mu    sync.Mutex
	bytes int
	ended bool
}

// Add counts n more bytes, unless the session has ended or take, which is called
// with n, returns an error. n may be negative.
func (t *Tab) Add(n int, take func(n int) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil
	}
	if err := take(n); err != nil {
		return err
	}
	t.bytes += n
	return nil
}

// End ends the counting and returns the bytes that were counted.
func (t *Tab) End() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.bytes
	t.bytes, t.ended = 0, true
	return n
}

// Full says that a principal has most bytes.
func Full(most int64) string {
	return fmt.Sprintf("the unfinished requests of this key, with calls that wait for its answers and what its sessions keep, have their share of %d bytes: finish some, or set limits.unfinishedPerKey", most)
}
