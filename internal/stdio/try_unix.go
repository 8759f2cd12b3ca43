//go:build linux || darwin

package stdio

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A tryReader reads what has come already from a pipe, without waiting. Its
// fields carry the arguments of a call, so that calling allocates nothing.
type tryReader struct {
	raw  syscall.RawConn
	once func(fd uintptr) bool
	p    []byte
	n    int
}

// newTryReader returns nil where reading always waits.
func newTryReader(r io.Reader) *tryReader {
	f, ok := r.(*os.File)
	if !ok {
		return nil
	}
	raw, err := f.SyscallConn()
	if err != nil || !nonblocking(raw) {
		return nil
	}
	t := &tryReader{raw: raw}
	t.once = func(fd uintptr) bool {
		t.n, _ = unix.Read(int(fd), t.p) // -1 with an error
		return true
	}
	return t
}

// read returns 0 when nothing is there, and when the end or an error is: whoever
// waits will meet it.
func (t *tryReader) read(p []byte) int {
	if t == nil {
		return 0
	}
	t.p, t.n = p, 0
	err := t.raw.Read(t.once)
	t.p = nil
	if err != nil {
		return 0
	}
	return max(t.n, 0)
}

func nonblocking(raw syscall.RawConn) (yes bool) {
	err := raw.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		yes = err == nil && flags&unix.O_NONBLOCK != 0
	})
	return yes && err == nil
}
