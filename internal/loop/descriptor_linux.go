package loop

import (
	"net"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A descriptor is closed when nobody uses it any more: its number may be that of
// another file then.
type descriptor struct {
	number int
	state  atomic.Int64 // twice how many use it, and one when it is to be closed
}

// use keeps it from being closed, until done.
func (d *descriptor) use() error {
	for {
		was := d.state.Load()
		if was&1 != 0 {
			return net.ErrClosed
		}
		if d.state.CompareAndSwap(was, was+2) {
			return nil
		}
	}
}

func (d *descriptor) done() {
	if d.state.Add(-2) == 1 {
		unix.Close(d.number)
	}
}

// close is called once.
func (d *descriptor) close() {
	if d.state.Or(1) == 0 {
		unix.Close(d.number)
	}
}
