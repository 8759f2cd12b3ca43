package lines

import (
	"sync"

	"mcp-all-in-one/internal/lastbuf"
)

// classes are the sizes of pooled buffers. Short lines are copied into the first
// four; the others are read into directly. Larger buffers are left to the garbage
// collector. It also frees pooled buffers after a while.
var classes = [...]int{512, 4 << 10, 16 << 10, chunkSize, 4 * chunkSize, 20 * chunkSize, 80 * chunkSize, DefaultMaxLine + chunkSize}

// fromLarge is the first class that is too large to be kept per processor.
const fromLarge = 6

var (
	pools  [fromLarge]sync.Pool
	spares [len(classes) - fromLarge]lastbuf.Last[lease]
)

// A lease is a pooled buffer and the function that returns it. give is made once,
// so that reuse allocates nothing. It is nil for a buffer without a pool.
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

// giveBack returns a buffer to its pool, if it has one.
func (l *lease) giveBack() {
	if l.give != nil {
		l.give()
	}
}

// lend returns a copy of data and the function that returns its buffer to the pool;
// the function is nil if there is no pool.
func lend(data []byte) ([]byte, func()) {
	l := borrow(len(data))
	return l.buf[:copy(l.buf, data)], l.give
}
