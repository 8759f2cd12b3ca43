// Package weight counts the memory that each principal occupies: with bodies that
// have not arrived whole, with large requests until they are answered, with large
// answers until they are read, and with what its sessions keep.
package weight

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Large is the size from which a request or an answer counts. Smaller ones are bounded
// by their number, and must cost no time.
const Large = 8 << 10

// A Book holds the counts. The zero value is ready to use.
type Book struct {
	mu  sync.Mutex
	of  map[string]counts
	all atomic.Int64 // bytes of all principals
}

type counts struct {
	bytes   int64
	answers int // that are not read yet
}

// Take counts n more bytes for a principal; n may be negative. It reports false, and
// counts nothing, if the principal would then have more than most.
func (b *Book) Take(who string, n, most int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > 0 && b.of[who].bytes+n > most {
		return false
	}
	b.countLocked(who, n, 0)
	return true
}

// Give counts n bytes less.
func (b *Book) Give(who string, n int64) { b.Add(who, -n) }

// Add counts n more bytes for a principal, without a limit, and returns its bytes.
func (b *Book) Add(who string, n int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.countLocked(who, n, 0)
	return b.of[who].bytes
}

func (b *Book) count(who string, n int64, answers int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.countLocked(who, n, answers)
}

func (b *Book) countLocked(who string, n int64, answers int) {
	if b.of == nil {
		b.of = make(map[string]counts)
	}
	b.all.Add(n)
	c := counts{b.of[who].bytes + n, b.of[who].answers + answers}
	if b.of[who] = c; c == (counts{}) {
		delete(b.of, who)
	}
}

// Of returns the bytes that count for a principal.
func (b *Book) Of(who string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of[who].bytes
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
	return fmt.Sprintf("the unfinished requests of this key, with calls that wait for its answers, answers that it has not read and what its sessions keep, have their share of %d bytes: finish some, or set limits.unfinishedPerKey", most)
}
