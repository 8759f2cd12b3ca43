//go:build linux || darwin

package http1

import (
	"io"
	"net"
	"os"
	"syscall"
)

// canTalk says that kept connections can be looked into here. Without that, a
// request could meet a connection that the server has closed long ago.
const canTalk = true

// A talker writes a request to a connection and waits for the answer.
//
// Package net tries to read before it waits: what has arrived is told once, and
// may have been told before. Nothing had arrived on a connection that was looked
// into, and the waiting begins before that look; so nothing is tried in vain.
type talker struct {
	raw  syscall.RawConn
	step func(fd uintptr) bool // made once: it is used for every request

	msg, in   []byte
	look      bool
	wrote     func() // called when msg is written; may be nil
	begun     bool
	sent, got int
	err       error
	b         [1]byte
}

// newTalker returns nil for a connection that the system does not know.
func newTalker(conn net.Conn) *talker {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	t := &talker{raw: raw}
	t.step = t.next
	return t
}

// talk writes msg and reads the first bytes of the answer into the same memory. It stops
// when only a part of msg could be written, with an error or because that would
// take waiting. Where it has to look, a connection that is closed, or on which
// something has arrived that answers no request, is errStale.
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

// next is called again when something may have arrived, until it reports true.
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
			// What had arrived before, on a connection that was not looked
			// into, is not told again.
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

// open looks into a connection that was kept: true means that a request can be
// written to it.
func (t *talker) open() (quiet bool) {
	err := t.raw.Control(func(fd uintptr) { quiet = t.quiet(int(fd)) })
	return err == nil && quiet
}

// quiet says that the connection is open and nothing has arrived on it: no
// closing, and nothing that answers no request.
func (t *talker) quiet(fd int) bool {
	_, _, err := syscall.Recvfrom(fd, t.b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return err == syscall.EAGAIN
}
