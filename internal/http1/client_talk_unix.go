//go:build linux || darwin

package http1

import (
	"io"
	"net"
	"os"
	"syscall"
)

// canTalk reports whether this platform can check an idle connection. Without the
// check, a request could be written to a connection that the server closed long
// ago.
const canTalk = true

// A talker writes a request to a connection and waits for the response.
//
// Package net tries to read before it waits, because the poller reports new data
// only once and may have reported it before. A talker skips that first read on a
// checked connection: nothing had arrived there, and RawConn.Read clears earlier
// reports before the check.
type talker struct {
	raw  syscall.RawConn
	step func(fd uintptr) bool // created once and used for every request

	msg, in   []byte
	look      bool
	wrote     func() // called when msg is written; may be nil
	begun     bool
	sent, got int
	err       error
	b         [1]byte
}

// newTalker returns nil for a connection without a file descriptor.
func newTalker(conn net.Conn) *talker {
	raw := rawOf(conn)
	if raw == nil {
		return nil
	}
	t := &talker{raw: raw}
	t.step = t.next
	return t
}

// talk writes msg and reads the first bytes of the response into the same memory.
// It stops early if only a part of msg could be written, because of an error or
// because the socket buffer is full. If look is set, talk checks the connection
// first, and returns errStale if it is closed or has unexpected data.
func (t *talker) talk(msg []byte, look bool, wrote func()) (sent, got int, err error) {
	t.msg, t.in, t.look, t.wrote = msg, msg[:cap(msg)], look, wrote
	t.begun, t.sent, t.got, t.err = false, 0, 0, nil
	err = t.raw.Read(t.step)
	if t.err != nil {
		err = t.err
	}
	t.msg, t.in, t.wrote = nil, nil, nil
	return t.sent, t.got, err
}

// next is called again when data may have arrived, until it returns true.
func (t *talker) next(fd uintptr) bool {
	if t.begun {
		return t.read(int(fd))
	}
	t.begun = true
	if t.look && !t.quiet(int(fd)) {
		t.err = errStale
		return true
	}
	for {
		n, err := syscall.Write(int(fd), t.msg)
		t.sent = max(n, 0)
		if err == nil && t.sent == len(t.msg) {
			if t.wrote != nil {
				t.wrote()
			}
			// On a connection that was not checked, data may have arrived before. The
			// poller does not report it again.
			return !t.look && t.read(int(fd))
		}
		if err == nil {
			return true
		}
		if err != syscall.EINTR {
			if err != syscall.EAGAIN {
				t.err = os.NewSyscallError("write", err)
			}
			return true
		}
	}
}

func (t *talker) read(fd int) bool {
	for {
		n, err := syscall.Read(fd, t.in)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return false
		case err != nil:
			t.err = os.NewSyscallError("read", err)
		case n == 0:
			t.err = io.EOF
		default:
			t.got = n
		}
		return true
	}
}

// open reports whether a request can be written to an idle connection.
func (t *talker) open() (quiet bool) {
	err := t.raw.Control(func(fd uintptr) { quiet = t.quiet(int(fd)) })
	return err == nil && quiet
}

// quiet reports whether the connection is open and has no unread data.
func (t *talker) quiet(fd int) bool {
	_, _, err := syscall.Recvfrom(fd, t.b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return err == syscall.EAGAIN
}
