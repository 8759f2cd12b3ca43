package httpclient

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const userTimeoutMillis = 30_000

// setUserTimeout makes the kernel close a connection whose peer does not
// acknowledge data.
func setUserTimeout(network, _ string, conn syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := conn.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, userTimeoutMillis)
	})
	if err != nil {
		return err
	}
	return failed
}
