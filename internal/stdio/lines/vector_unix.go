//go:build linux || darwin

package lines

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxVector is IOV_MAX: how many buffers one writev takes.
const maxVector = 1024

// A fileVector writes to a pipe with writev. Only one goroutine may use it at a
// time. Its fields hold the arguments of a call, so that a call allocates nothing.
type fileVector struct {
	raw  syscall.RawConn
	try  func(fd uintptr) bool
	bufs *[][]byte
	wait bool
	err  error
}

// newVectorWriter returns nil if w is not a file.
func newVectorWriter(w io.Writer) vectorWriter {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	v := &fileVector{raw: raw}
	v.try = v.once
	return v
}

func (v *fileVector) writev(bufs *[][]byte, wait bool) error {
	v.bufs, v.wait, v.err = bufs, wait, nil
	err := v.raw.Write(v.try)
	v.bufs = nil
	if v.err != nil {
		return v.err
	}
	return err
}

// once writes as much as fits into the pipe. If it returns false, it is called
// again when the pipe has room.
func (v *fileVector) once(fd uintptr) bool {
	for len(*v.bufs) > 0 {
		n, err := writeBuffers(int(fd), *v.bufs)
		switch err {
		case nil:
			*v.bufs = consume(*v.bufs, n)
		case unix.EINTR:
		case unix.EAGAIN:
			return !v.wait
		default:
			v.err = err
			return true
		}
	}
	return true
}

func writeBuffers(fd int, bufs [][]byte) (int, error) {
	if len(bufs) == 1 {
		return unix.Write(fd, bufs[0])
	}
	return unix.Writev(fd, bufs[:min(len(bufs), maxVector)])
}

// consume removes the first n bytes.
func consume(bufs [][]byte, n int) [][]byte {
	for len(bufs) > 0 && n >= len(bufs[0]) {
		n -= len(bufs[0])
		bufs = bufs[1:]
	}
	if n > 0 {
		bufs[0] = bufs[0][n:]
	}
	return bufs
}
