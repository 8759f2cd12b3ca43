//go:build unix

package mcphttp

import (
	"net"
	"net/http"
	"syscall"
)

// reserved is how many descriptors clients cannot use. They are for starting
// servers, for files, and for connections to servers.
const reserved = 64

// spareDescriptors closes a connection that has taken one of the last descriptors.
// The system assigns the lowest free number, so the number tells how many are in
// use.
func spareDescriptors(conn net.Conn, state http.ConnState) {
	if state != http.StateNew {
		return
	}
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = wrapped.NetConn()
	}
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return
	}
	var number uintptr
	if raw.Control(func(fd uintptr) { number = fd }) != nil || limit.Cur < 2*reserved {
		return
	}
	if uint64(number) >= uint64(limit.Cur)-reserved {
		conn.Close()
	}
}
