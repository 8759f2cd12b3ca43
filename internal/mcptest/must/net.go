package must

import (
	"net"
	"testing"
)

// Listen listens on a free port of this machine until the test ends.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// Pair returns the two ends of a connection, which is open until the test ends.
func Pair(t testing.TB) (dialled, accepted *net.TCPConn) {
	t.Helper()
	l := Listen(t)
	defer l.Close()
	one, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		one.Close()
		other.Close()
	})
	return one.(*net.TCPConn), other.(*net.TCPConn)
}
