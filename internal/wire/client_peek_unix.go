//go:build linux || darwin

package wire

import (
	"net"
	"syscall"
)

// canPeek says that kept connections can be looked into here. Without that, a
// request could meet a connection that the server has closed long ago.
const canPeek = true

// A peeker looks into one connection without waiting and without taking
// anything from it.
type peeker struct {
	raw   syscall.RawConn
	look  func(fd uintptr) // made once: it is used for every request
	empty bool
	b     [1]byte
}

// newPeeker returns nil for a connection that the system does not know.
func newPeeker(conn net.Conn) *peeker {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	p := &peeker{raw: raw}
	p.look = func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), p.b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		p.empty = err == syscall.EAGAIN
	}
	return p
}

// quiet says that the connection is open and nothing has arrived on it: no
// closing, and nothing that answers no request.
func (p *peeker) quiet() bool {
	return p.raw.Control(p.look) == nil && p.empty
}
