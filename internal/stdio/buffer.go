package stdio

import "sync"

// classes are the sizes of pooled buffers. What is larger is left to the
// garbage collector, so that a burst of large messages is not kept for ever.
var classes = [...]int{512, 4 << 10, 16 << 10, 64 << 10}

var pools [len(classes)]sync.Pool

// A lease is a pooled buffer with its way back; give is made once, so that
// lending it again allocates nothing.
type lease struct {
	buf  []byte
	give func()
}

// lend returns a copy of data and the function that gives its buffer back,
// nil when there is nothing to give back.
func lend(data []byte) ([]byte, func()) {
	for i, size := range classes {
		if len(data) > size {
			continue
		}
		l, _ := pools[i].Get().(*lease)
		if l == nil {
			l = &lease{buf: make([]byte, size)}
			l.give = func() { pools[i].Put(l) }
		}
		return l.buf[:copy(l.buf, data)], l.give
	}
	return append([]byte(nil), data...), nil
}
