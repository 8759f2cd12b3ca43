package stdio

import (
	"sync"
	"weak"
)

// classes are the sizes of pooled buffers. Short lines are copied into the
// first four; the others are read into directly. What is larger is left to the
// garbage collector, as is, after a while, what is in the pools.
var classes = [...]int{512, 4 << 10, 16 << 10, chunkSize, 4 * chunkSize, 20 * chunkSize, 80 * chunkSize, DefaultMaxLine + chunkSize}

// fromLarge is the first class that is too large to be kept for each processor.
const fromLarge = 6

var (
	pools  [fromLarge]sync.Pool
	spares [len(classes) - fromLarge]spare
)

// A lease is a pooled buffer with its way back; give is made once, so that
// lending it again allocates nothing. It is nil for a buffer without a pool.
type lease struct {
	buf  []byte
	give func()
}

// borrow returns a buffer of at least size bytes.
func borrow(size int) *lease {
	for i, class := range classes {
		if size > class {
			continue
		}
		if i >= fromLarge {
			return spares[i-fromLarge].get(class)
		}
		l, _ := pools[i].Get().(*lease)
		if l == nil {
			l = &lease{buf: make([]byte, class)}
			l.give = func() { pools[i].Put(l) }
		}
		return l
	}
	return &lease{buf: make([]byte, size)}
}

// A spare is the large buffer that was given back last, until the next
// collection: large answers come one after the other, and each would leave its
// buffer to the collector.
type spare struct {
	mu   sync.Mutex
	last weak.Pointer[lease]
}

func (s *spare) get(size int) *lease {
	s.mu.Lock()
	l := s.last.Value()
	s.last = weak.Pointer[lease]{}
	s.mu.Unlock()
	if l == nil {
		l = &lease{buf: make([]byte, size)}
		l.give = func() { s.put(l) }
	}
	return l
}

func (s *spare) put(l *lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = weak.Make(l)
}

// giveBack returns a buffer that was not given away.
func (l *lease) giveBack() {
	if l.give != nil {
		l.give()
	}
}

// lend returns a copy of data and the function that gives its buffer back,
// nil when there is nothing to give back.
func lend(data []byte) ([]byte, func()) {
	l := borrow(len(data))
	return l.buf[:copy(l.buf, data)], l.give
}
