//go:build linux || darwin

package http1

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// A fdWriter writes to the descriptor of a connection without waiting.
type fdWriter struct {
	raw  syscall.RawConn
	once func(fd uintptr) bool
	bufs *net.Buffers
	err  error
}

func newTryWriter(nc net.Conn) tryWriter {
	raw := rawOf(nc)
	if raw == nil {
		return nil
	}
	w := &fdWriter{raw: raw}
	w.once = w.write
	return w
}

// rawOf returns access to the file descriptor of a connection or listener; nil if
// it has none.
func rawOf(c any) syscall.RawConn {
	if sc, ok := c.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

func (w *fdWriter) tryWrite(bufs *net.Buffers) error {
	w.bufs, w.err = bufs, nil
	err := w.raw.Write(w.once)
	w.bufs = nil
	if w.err != nil {
		return w.err
	}
	return err
}

// write always returns true, so that RawConn.Write does not wait for buffer space.
func (w *fdWriter) write(fd uintptr) bool {
	for len(*w.bufs) > 0 {
		var n int
		var err error
		if len(*w.bufs) == 1 {
			n, err = unix.Write(int(fd), (*w.bufs)[0])
		} else {
			n, err = unix.Writev(int(fd), *w.bufs)
		}
		switch err {
		case nil:
			w.consume(n)
		case unix.EINTR:
		case unix.EAGAIN:
			return true
		default:
			w.err = err
			return true
		}
	}
	return true
}

func (w *fdWriter) consume(n int) {
	b := *w.bufs
	for len(b) > 0 && n >= len(b[0]) {
		n -= len(b[0])
		b = b[1:]
	}
	if n > 0 {
		b[0] = b[0][n:]
	}
	*w.bufs = b
}
