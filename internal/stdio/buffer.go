package stdio

import "sync"

// classes are the sizes of pooled buffers. Short lines are copied into the
// first four; the others are read into directly. What is larger is left to the
// garbage collector, as is, after a while, what is in the pools.
var classes = [...]int{512, 4 << 10, 16 << 10, chunkSize, 4 * chunkSize, 20 * chunkSize}

var pools [len(classes)]sync.Pool

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
		l, _ := pools[i].Get().(*lease)
		if l == nil {
			l = &lease{buf: make([]byte, class)}
			l.give = func() { pools[i].Put(l) }
		}
		return l
	}
	return &lease{buf: make([]byte, size)}
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
