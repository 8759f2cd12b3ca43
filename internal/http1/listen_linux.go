package http1

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// dropFirst makes a socket drop the first packet of a connection (SYN without ACK)
// and no other packet. The client sends it again after a second; then it is
// refused, or reaches the next process at this address.
var dropFirst = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 13},
	{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0x12},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0x02, Jt: 0, Jf: 1},
	{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 18},
}

// noMore makes the listener drop new connections. The returned function waits for a
// connection that is already in the backlog and reports whether there is one; it is
// nil if the platform cannot tell.
func noMore(ln net.Listener) (waits func(time.Duration) bool) {
	raw := rawOf(ln)
	if raw == nil {
		return nil
	}
	raw.Control(func(fd uintptr) {
		// If the filter fails, a client that connects between the last Accept and
		// Close loses its connection.
		_ = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(dropFirst)), Filter: &dropFirst[0]})
	})
	return func(wait time.Duration) (waiting bool) {
		raw.Control(func(fd uintptr) {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(poll, int(wait.Milliseconds()))
			waiting = n > 0 || err == unix.EINTR
		})
		return waiting
	}
}
