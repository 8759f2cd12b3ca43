package stdio

import (
	"sync"

	"mcp-all-in-one/internal/lastbuf"
)

// classes are the sizes of pooled buffers. Short lines are copied into the
// first four; the others are read into directly. What is larger is left to the
// garbage collector, as is, after a while, what is in the pools.
var classes = [...]int{512, 4 << 10, 16 << 10, chunkSize, 4 * chunkSize, 20 * chunkSize, 80 * chunkSize, DefaultMaxLine + chunkSize}

// fromLarge is the first class that is too large to be kept for each processor.
const fromLarge = 6

var (
	pools  [fromLarge]sync.Pool
	spares [len(classes) - fromLarge]lastbuf.Last[lease]
)

// A lease is a pooled buffer with its way back; give is made once, so that
// lending it again allocates nothing. It is nil for a buffer without a pool.
type lease struct {
	buf   []byte
	class int
	give  func()
}

// borrow returns a buffer of at least size bytes.
func borrow(size int) *lease {
	for i, class := range classes {
		if size > class {
			continue
		}
		l := pooled(i)
		if l == nil {
			l = &lease{buf: make([]byte, class), class: i}
			l.give = l.pool
		}
		return l
	}
	return &lease{buf: make([]byte, size)}
}

func pooled(class int) *lease {
	if class >= fromLarge {
		return spares[class-fromLarge].Take()
	}
	l, _ := pools[class].Get().(*lease)
	return l
}

func (l *lease) pool() {
	if l.class >= fromLarge {
		spares[l.class-fromLarge].Give(l)
		return
	}
	pools[l.class].Put(l)
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
