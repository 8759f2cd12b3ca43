//go:build linux || darwin

package http1

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// A counted connection is below TLS and counts writes.
type counted struct {
	net.Conn
	writes *atomic.Int32
}

func (c counted) NetConn() net.Conn { return c.Conn }

func (c counted) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// sealed is a Server and a Transport, connected by TLS.
type sealed struct {
	*Transport
	url         string
	asked, told atomic.Int32 // writes of the client, of the server
	dialled     atomic.Int32
	mu          sync.Mutex
	answers     []net.Conn              // the server's ends of the connections
	below       func(net.Conn) net.Conn // what is below the client's TLS; nil for the connection itself
}

func (s *sealed) accept(ln net.Listener, secure *tls.Config) (net.Conn, error) {
	conn, err := ln.Accept()
	if err != nil {
		return nil, err
	}
	over := tls.Server(counted{conn, &s.told}, secure)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, over)
	return over, nil
}

type acceptFunc struct {
	net.Listener
	accept func() (net.Conn, error)
}

func (l acceptFunc) Accept() (net.Conn, error) { return l.accept() }

func newSealed(t *testing.T, h http.HandlerFunc) *sealed {
	t.Helper()
	std := httptest.NewTLSServer(nil)
	secure := &tls.Config{Certificates: std.TLS.Certificates, SessionTicketsDisabled: true, DynamicRecordSizingDisabled: true}
	std.Close()
	noLeaks(t)
	ln := must.Listen(t)
	s := &sealed{url: "https://" + ln.Addr().String() + "/mcp"}
	srv := NewServer(newStd(h))
	done := make(chan error, 1)
	go func() {
		done <- srv.Serve(acceptFunc{ln, func() (net.Conn, error) { return s.accept(ln, secure) }})
	}()
	t.Cleanup(func() {
		srv.Close()
		<-done
	})
	rest := newTransport()
	rest.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		s.dialled.Add(1)
		if s.below != nil {
			conn = s.below(conn)
		}
		over := tls.Client(counted{conn, &s.asked}, &tls.Config{InsecureSkipVerify: true, DynamicRecordSizingDisabled: true})
		return over, over.HandshakeContext(ctx)
	}
	s.Transport = NewTransport(rest)
	t.Cleanup(s.CloseIdleConnections)
	return s
}

// TestSealedOneWrite checks that a small message is one write over TLS, on either
// side.
func TestSealedOneWrite(t *testing.T) {
	body := strings.Repeat("x", 3<<10)
	s := newSealed(t, func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Length", fmt.Sprint(len(got)))
		w.Write(got)
	})
	ask(t, s, s.url, body) // opens the connection
	asked, told := s.asked.Load(), s.told.Load()
	for range 5 {
		if _, got := ask(t, s, s.url, body); got != body {
			t.Fatalf("%d bytes", len(got))
		}
	}
	if asked, told = s.asked.Load()-asked, s.told.Load()-told; asked != 5 || told != 5 || s.dialled.Load() != 1 {
		t.Errorf("5 requests were %d writes, their answers %d, on %d connections", asked, told, s.dialled.Load())
	}
	long := strings.Repeat("y", 30<<10)
	if _, got := ask(t, s, s.url, long); got != long {
		t.Errorf("%d bytes of %d", len(got), len(long))
	}
}

// TestLargeParts checks that the large parts of a response are written as they are,
// without a copy.
func TestLargeParts(t *testing.T) {
	part, parts := make([]byte, joined), 4
	s := newSealed(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(parts*len(part)))
		for range parts {
			w.Write(part)
			if n := len(w.(*answer).out); n > 0 {
				t.Errorf("%d bytes wait for more", n)
			}
		}
	})
	if _, got := ask(t, s, s.url, "x"); len(got) != parts*len(part) {
		t.Errorf("%d bytes", len(got))
	}
}

// TestSealedStale checks that nothing is written to an idle connection that the
// server closed.
func TestSealedStale(t *testing.T) {
	s := newSealed(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	ask(t, s, s.url, "1")
	s.mu.Lock()
	s.answers[0].Close()
	s.mu.Unlock()
	kept := s.sealed.idle[strings.TrimSuffix(strings.TrimPrefix(s.url, "https://"), "/mcp")][0]
	must.Await(t, "the end has arrived", func() bool { return !kept.talk.open() })
	if _, got := ask(t, s, s.url, "2"); got != "2" || s.dialled.Load() != 2 {
		t.Errorf("%q on %d connections", got, s.dialled.Load())
	}
}

// hidden is a connection without a file descriptor, which knows itself whether it
// is quiet.
type hidden struct {
	net.Conn
	quiet *atomic.Bool
}

func (h hidden) Quiet() bool { return h.quiet.Load() }

// TestSealedQuiet checks that a connection without a file descriptor is kept if it
// can tell whether it is quiet.
func TestSealedQuiet(t *testing.T) {
	s := newSealed(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	var quiet atomic.Bool
	quiet.Store(true)
	s.below = func(conn net.Conn) net.Conn { return hidden{conn, &quiet} }
	for range 3 {
		ask(t, s, s.url, "1")
	}
	if n := s.dialled.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	quiet.Store(false)
	if _, got := ask(t, s, s.url, "2"); got != "2" || s.dialled.Load() != 2 {
		t.Errorf("%q on %d connections", got, s.dialled.Load())
	}
}

// TestSealedHeads checks that a request uses the connection on which its head was
// sent before, and that the server does not parse the head again.
func TestSealedHeads(t *testing.T) {
	var mu sync.Mutex
	parsed := map[string]map[string]bool{} // headers, by sender
	arrived, both := make(chan struct{}, 100), make(chan struct{})
	s := newSealed(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		who := r.Header.Get("Who")
		if parsed[who] == nil {
			parsed[who] = map[string]bool{}
		}
		parsed[who][fmt.Sprintf("%p", r.Header)] = true
		mu.Unlock()
		arrived <- struct{}{}
		<-both
	})
	send := func(who string) {
		req := newPost(t.Context(), s.url, "{}")
		for i := range 10 {
			req.Header.Set(fmt.Sprintf("Field-%d", i), who)
		}
		req.Header.Set("Who", who)
		resp, err := s.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return
		}
		resp.Body.Close()
	}
	var wait sync.WaitGroup
	wait.Go(func() { send("a") })
	wait.Go(func() { send("b") })
	<-arrived
	<-arrived
	close(both) // there are two connections
	wait.Wait()
	for range 10 {
		send("a")
		send("b")
	}
	mu.Lock()
	defer mu.Unlock()
	if s.dialled.Load() != 2 || len(parsed["a"]) != 1 || len(parsed["b"]) != 1 {
		t.Errorf("%d connections, the head of one was parsed %d times, of the other %d", s.dialled.Load(), len(parsed["a"]), len(parsed["b"]))
	}
}
