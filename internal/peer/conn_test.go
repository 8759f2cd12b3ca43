package peer

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/seal"
)

// answering is a replica that sends one response on each connection and closes it.
// It counts the requests.
func answering(t *testing.T, n *Node, answer string) (Owner, *atomic.Int32) {
	t.Helper()
	ln := must.Listen(t)
	asked := new(atomic.Int32)
	go func() {
		for {
			raw, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				conn := tls.Server(raw, n.certs.tls())
				defer conn.Close()
				req, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				io.Copy(io.Discard, req.Body)
				asked.Add(1)
				io.WriteString(conn, answer)
			}()
		}
	}()
	n.self.Address = ln.Addr().String()
	return n.self, asked
}

// TestClosedBehindAnswer checks that the next request uses another connection if a
// replica closes the first one after its response.
func TestClosedBehindAnswer(t *testing.T) {
	secret := seal.NewSecret()
	owner, asked := answering(t, node(t, "a", "team", secret), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	b := node(t, "b", "team", secret)
	for range 50 {
		if w := httptest.NewRecorder(); b.forward(w, post("{}"), owner, false) != answered || w.Body.String() != "ok" {
			t.Fatalf("%q", w.Body)
		}
	}
	if n := asked.Load(); n != 50 {
		t.Errorf("asked %d times", n)
	}
}

// TestHalfAnAnswer checks that a request is not sent again after the response has
// begun: the replica has seen it.
func TestHalfAnAnswer(t *testing.T) {
	secret := seal.NewSecret()
	for _, answer := range []string{"H", "HTTP/1.1 200 OK\r\nConte", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf"} {
		owner, asked := answering(t, node(t, "a", "team", secret), answer)
		w := httptest.NewRecorder()
		got := node(t, "b", "team", secret).forward(w, post("{}"), owner, false)
		if got != answered || !strings.Contains(w.Body.String(), "was lost") || asked.Load() != 1 {
			t.Errorf("%q: outcome %d, asked %d times: %q", answer, got, asked.Load(), w.Body)
		}
	}
}

// A counter counts the writes below TLS.
type counter struct {
	net.Conn
	writes atomic.Int32
}

func (c *counter) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// TestRecordsTogether checks that the records of a large response are written
// together and arrive unchanged.
func TestRecordsTogether(t *testing.T) {
	n := node(t, "a", "team", seal.NewSecret())
	far, near := net.Pipe()
	t.Cleanup(func() { far.Close() })
	below := &counter{Conn: near}
	under := &recordConn{Conn: below}
	conn := &servedConn{tls.Server(under, n.certs.tls()), under, nil}
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	done := make(chan error, 1)
	go func() {
		err := conn.Handshake()
		if err == nil {
			below.writes.Store(0)
			_, err = conn.Write(sent)
		}
		done <- errors.Join(err, conn.Close())
	}()
	got, err := io.ReadAll(tls.Client(far, n.certs.tls()))
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d of %d bytes, %v", len(got), len(sent), err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := below.writes.Load(); n > 7 { // 256 KB at a time, and the rest; 65 if written one by one
		t.Errorf("%d writes", n)
	}
}

// TestNameUnknown checks that a name that does not resolve proves the end of a
// replica only if its record has ended, too.
func TestNameUnknown(t *testing.T) {
	n := node(t, "b", "team", seal.NewSecret())
	owner := Owner{"a", "1", "a.invalid:1"}
	for name, tt := range map[string]struct {
		ended func(context.Context, Owner) bool
		want  outcome
	}{
		"no engine": {nil, dead},
		"lives":     {func(_ context.Context, o Owner) bool { return o != owner }, unreachable},
		"ended":     {func(context.Context, Owner) bool { return true }, dead},
	} {
		t.Run("cluster/names/"+name, func(t *testing.T) {
			n.opt.Ended = tt.ended
			if got := n.forward(httptest.NewRecorder(), post("{}"), owner, false); got != tt.want {
				t.Errorf("outcome %d", got)
			}
		})
	}
}
