//go:build linux || darwin

package stdio

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A pollReader reads from a pipe and says before it waits. Its fields carry the
// arguments of a call, so that calling allocates nothing.
type pollReader struct {
	raw    syscall.RawConn
	once   func(fd uintptr) bool
	p      []byte
	before func() bool
	n      int
	err    error
}

// newPollReader returns nil where nobody can tell whether reading waits.
func newPollReader(r io.Reader) *pollReader {
	f, ok := r.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := f.SyscallConn()
	if err != nil || !nonblocking(raw) {
		return nil
	}
	pr := &pollReader{raw: raw}
	pr.once = pr.readOnce
	return pr
}

// read is that of an io.Reader. Before it waits it calls before, and looks once
// more when that says that something may have come.
func (r *pollReader) read(p []byte, before func() bool) (int, error) {
	r.p, r.before, r.n, r.err = p, before, 0, nil
	err := r.raw.Read(r.once)
	r.p, r.before = nil, nil
	switch {
	case r.err != nil:
		return 0, r.err
	case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
		return 0, os.ErrClosed
	case err != nil:
		return 0, err
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// readOnce returns false to be called again when something has come. Between
// the two nothing is missed: whoever calls it had begun to listen before.
func (r *pollReader) readOnce(fd uintptr) bool {
	for {
		n, err := unix.Read(int(fd), r.p)
		switch err {
		case nil:
			r.n = n
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			if r.before() {
				continue
			}
			return false
		default:
			r.err = err
		}
		return true
	}
}

func nonblocking(raw syscall.RawConn) (yes bool) {
	err := raw.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		yes = err == nil && flags&unix.O_NONBLOCK != 0
	})
	return yes && err == nil
}
