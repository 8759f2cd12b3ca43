package http1

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dropFirst lets a socket drop the first packet of a connection, and no other:
// flags of TCP with SYN and without ACK. Who sent it sends it again in a second,
// and is refused then, or finds the next one at this address.
var dropFirst = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 13},
	{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0x12},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0x02, Jt: 0, Jf: 1},
	{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 18},
}

// noMore lets nobody connect to a listener any more. The function that it returns
// waits for somebody who has, and says whether there is one; it is nil where that
// cannot be told.
func noMore(ln net.Listener) (waits func(time.Duration) bool) {
	sc, ok := ln.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	raw.Control(func(fd uintptr) {
		// Without the filter those are lost who connect between the last look
		// and the end.
		_ = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(dropFirst)), Filter: &dropFirst[0]})
	})
	return func(wait time.Duration) (somebody bool) {
		raw.Control(func(fd uintptr) {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(poll, int(wait.Milliseconds()))
			somebody = n > 0 || err == unix.EINTR
		})
		return somebody
	}
}
