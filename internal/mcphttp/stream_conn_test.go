package mcphttp_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcptest/must"
)

// rawGet opens a stream of a session and returns its connection.
func (w *world) rawGet(id, proto, more string) net.Conn {
	w.t.Helper()
	host := strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/mcp")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	must.OK(w.t, conn.SetDeadline(time.Now().Add(patience)))
	request := "GET /mcp " + proto + "\r\nHost: " + host + "\r\nAccept: text/event-stream\r\nMcp-Session-Id: " + id + "\r\n\r\n" + more
	if _, err := io.WriteString(conn, request); err != nil {
		w.t.Fatal(err)
	}
	return conn
}

// readTo reads until mark arrives.
func readTo(t *testing.T, conn net.Conn, mark string) string {
	t.Helper()
	var got strings.Builder
	buf := make([]byte, 1)
	for !strings.HasSuffix(got.String(), mark) {
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatalf("%q, then %v", got.String(), err)
		}
		got.Write(buf[:n])
	}
	return got.String()
}

// TestStreamIsCarriedByItsConnection checks that the messages of a stream outside
// calls reach every client complete, and that the end of the session ends the body
// correctly.
func TestStreamIsCarriedByItsConnection(t *testing.T) {
	for _, tc := range []struct{ name, proto, more, head, end string }{
		{"chunked", "HTTP/1.1", "", "Connection: close", "\r\n0\r\n\r\n"},
		{"chunked, with input", "HTTP/1.1", "GET / HTTP/1.1\r\n\r\n", "Connection: close", "\r\n0\r\n\r\n"},
		{"HTTP/1.0", "HTTP/1.0", "", "text/event-stream", "}\n\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, mcphttp.ServerLimits{})
			id := w.initialize(mcp.V2025_06_18)
			conn := w.rawGet(id, tc.proto, tc.more)
			head := readTo(t, conn, "\r\n\r\n")
			if !strings.HasPrefix(head, tc.proto+" 200") || !strings.Contains(head, tc.head) {
				t.Errorf("%q", head)
			}
			for i := range 3 {
				must.OK(t, w.opening(0).Client.Notify(t.Context(), note(i)))
				readTo(t, conn, fmt.Sprintf("n%d.", i))
			}
			if a := w.send(http.MethodDelete, w.url, "", "Mcp-Session-Id", id); a.status != http.StatusNoContent {
				t.Fatalf("status %d", a.status)
			}
			rest, err := io.ReadAll(conn)
			if err != nil && tc.more == "" || !strings.HasSuffix(string(rest), tc.end) {
				t.Errorf("%q, then %v", rest, err)
			}
		})
	}
}

// A countedConn hides the type of a connection, like a connection passed to
// net/http: it cannot write several buffers at once.
type countedConn struct {
	net.Conn
	writes atomic.Int64
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

type countedListener struct {
	net.Listener
	last atomic.Pointer[countedConn]
}

func (l *countedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &countedConn{Conn: conn}
	l.last.Store(c)
	return c, nil
}

// TestEventIsOneWrite checks that an event is one write on any connection.
func TestEventIsOneWrite(t *testing.T) {
	inner := must.Listen(t)
	ln := &countedListener{Listener: inner}
	w := newWorldOn(t, mcphttp.ServerLimits{}, ln, new(net.Dialer).DialContext)
	conn := w.rawGet(w.initialize(mcp.V2025_06_18), "HTTP/1.1", "")
	readTo(t, conn, "\r\n\r\n")
	c := ln.last.Load()
	before := c.writes.Load()
	for i := range 3 {
		must.OK(t, w.opening(0).Client.Notify(t.Context(), note(i)))
		readTo(t, conn, fmt.Sprintf("n%d.", i))
		readTo(t, conn, "\n\n\r\n")
	}
	if n := c.writes.Load() - before; n != 3 {
		t.Errorf("%d writes for 3 events", n)
	}
}
