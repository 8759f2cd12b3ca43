package weight

import "time"

// stall is how long an answer may make no progress before its client counts as one
// that does not read.
const stall = time.Second

// An Answer is a large answer that its client has not read yet. It exists, so it is
// never refused; instead, the principal makes no new calls while it is Over.
//
// A client that reads may have many answers on their way, so an answer counts half as
// long as it makes progress; that still bounds what comes at once, or is read just fast
// enough. Once it has made none for the time stall, it counts whole until it is
// written, even if it moves again: a client that reads a little of all its answers at
// once must not get room for more. An answer smaller than Step counts whole: it is
// written at once and needs no timer.
//
// A nil Answer counts nothing.
type Answer struct {
	book   *Book
	who    string
	size   int64
	stalls *time.Timer // nil if it counts whole already
}

// Step is the size from which an answer is written in parts.
const Step = 64 << 10

// Answer counts an answer of n bytes for a principal until Done is called.
func (b *Book) Answer(who string, n int) *Answer {
	a := &Answer{book: b, who: who, size: int64(n)}
	if n < Step {
		b.count(who, a.size, 1)
		return a
	}
	b.count(who, a.size/2, 1)
	a.stalls = time.AfterFunc(stall, func() { b.count(who, a.size-a.size/2, 0) })
	return a
}

// Moved says that a part has been written.
func (a *Answer) Moved() {
	if a != nil && a.stalls != nil && a.stalls.Stop() {
		a.stalls.Reset(stall)
	}
}

// Done ends the count: the answer is written, or its connection has ended.
func (a *Answer) Done() {
	if a == nil {
		return
	}
	n := a.size
	if a.stalls != nil && a.stalls.Stop() {
		n = a.size / 2
	}
	a.book.count(a.who, -n, -1)
}

// Over reports whether a principal has unread answers and, with them, more than most
// bytes.
func (b *Book) Over(who string, most int64) bool {
	if b.all.Load() <= most {
		return false // small calls must not wait for the lock
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.of[who]
	return c.answers > 0 && c.bytes > most
}
