package mcptest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// FreePort returns a TCP port that a program can listen on until the test ends.
//
// The kernel must not choose it: between the choice and the start of the program,
// it could give the same port to an outgoing connection. The ports below are
// outside the ranges from which Linux, macOS and Windows choose. A UDP socket with
// the same number reserves the port against other tests.
func FreePort(t testing.TB) string {
	t.Helper()
	const first, last = 11000, 32767 // browsers refuse some lower ones
	for range 1000 {
		port := strconv.Itoa(first + rand.IntN(last-first+1))
		address := net.JoinHostPort("127.0.0.1", port)
		reserved, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		ln, err := net.Listen("tcp", address)
		if err != nil {
			reserved.Close()
			continue
		}
		ln.Close()
		t.Cleanup(func() { reserved.Close() })
		return port
	}
	t.Fatalf("no port from %d to %d is free", first, last)
	return ""
}
