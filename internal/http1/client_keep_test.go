//go:build linux || darwin

package http1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
)

func TestClientKeepsConnections(t *testing.T) {
	c := newTestClient(t)
	p := playAll(t, theNext)
	for range 10 {
		ask(t, c, p.url, "{}")
	}
	if n := p.conns.Load(); n != 1 {
		t.Errorf("%d connections for one request at a time", n)
	}
	c.CloseIdleConnections()
	must.Await(t, "the connection is closed", func() bool { return p.open.Load() == 0 })
	resp := roundTrip(t, c, p.url)
	c.CloseIdleConnections() // while one is in use
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Error(err)
	}
	must.Await(t, "what became idle is closed", func() bool { return p.open.Load() == 0 })
	ask(t, c, p.url, "{}")
	ask(t, c, p.url, "{}")
	if n := p.conns.Load(); n != 3 {
		t.Errorf("%d connections, want 3", n)
	}
}

func TestClientPoolLimits(t *testing.T) {
	c := newTestClient(t)
	c.rest.MaxIdleConnsPerHost, c.rest.MaxIdleConns = 3, 4
	var players []*player
	for range 2 {
		p := playAll(t, theNext)
		players = append(players, p)
		var open []*http.Response
		for range 6 {
			resp := roundTrip(t, c, p.url)
			open = append(open, resp)
		}
		for _, resp := range open {
			_, _ = io.Copy(io.Discard, resp.Body)
		}
	}
	for i, want := range []int32{3, 1} {
		must.Await(t, fmt.Sprintf("server %d has %d connections", i, want), func() bool { return players[i].open.Load() == want })
	}
}

// TestClientIdleTimeout checks that one timer closes all old connections and that
// no goroutine waits.
func TestClientIdleTimeout(t *testing.T) {
	c := newTestClient(t)
	c.rest.IdleConnTimeout = 50 * time.Millisecond
	p := playAll(t, theNext)
	var open []*http.Response
	for range 3 {
		resp := roundTrip(t, c, p.url)
		open = append(open, resp)
	}
	for _, resp := range open {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	must.Await(t, "all are closed", func() bool { return p.open.Load() == 0 })
	ask(t, c, p.url, "{}")
	must.Await(t, "the later one is closed too", func() bool { return p.open.Load() == 0 })
	if n := p.conns.Load(); n != 4 {
		t.Errorf("%d connections, want 4", n)
	}
}

// TestClientStaleConnections checks that an idle connection is not reused if the
// server has closed it or sent data, and that the request is sent once on another
// one.
func TestClientStaleConnections(t *testing.T) {
	acts := map[string]func(net.Conn){
		"closed": func(conn net.Conn) { conn.Close() },
		"reset":  func(conn net.Conn) { _ = conn.(*net.TCPConn).SetLinger(0); conn.Close() },
		"half":   func(conn net.Conn) { _ = conn.(*net.TCPConn).CloseWrite() },
		"timeout": func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
		},
		"junk": func(conn net.Conn) { _, _ = io.WriteString(conn, "\r\n") },
	}
	for name, act := range acts {
		t.Run(name, func(t *testing.T) {
			c := newTestClient(t)
			var heard atomic.Int32
			first := make(chan net.Conn, 1)
			p := play(t, func(conn net.Conn, br *bufio.Reader) {
				for {
					if _, _, err := heardRequest(br); err != nil {
						return
					}
					if heard.Add(1) == 1 {
						first <- conn
					}
					if _, err := io.WriteString(conn, theNext); err != nil {
						return
					}
				}
			})
			ask(t, c, p.url, "1")
			act(<-first)
			kept := c.plain.idle[strings.TrimSuffix(strings.TrimPrefix(p.url, "http://"), "/mcp")][0]
			must.Await(t, "it has arrived", func() (arrived bool) {
				err := kept.talk.raw.Control(func(fd uintptr) { arrived = !kept.talk.quiet(int(fd)) })
				return arrived || err != nil
			})
			if status, _ := ask(t, c, p.url, "2"); status != 200 {
				t.Errorf("status %d", status)
			}
			if heard.Load() != 2 || p.conns.Load() != 2 {
				t.Errorf("%d requests on %d connections", heard.Load(), p.conns.Load())
			}
		})
	}
}

// TestClientNeverSendsTwice checks that a request is not sent again once bytes of
// it were sent.
func TestClientNeverSendsTwice(t *testing.T) {
	c := newTestClient(t)
	var heard atomic.Int32
	p := play(t, func(conn net.Conn, br *bufio.Reader) {
		for {
			if _, _, err := heardRequest(br); err != nil || heard.Add(1) == 2 {
				return
			}
			if _, err := io.WriteString(conn, theNext); err != nil {
				return
			}
		}
	})
	ask(t, c, p.url, "1")
	_, err := c.RoundTrip(newPost(t.Context(), p.url, "2"))
	var notSent *NotSentError
	if err == nil || errors.As(err, &notSent) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	if heard.Load() != 2 {
		t.Errorf("%d requests arrived", heard.Load())
	}
}

// TestClientWriteFails checks that a kept connection that fails before the first
// byte is replaced, and that the error of a new one says that nothing was sent.
func TestClientWriteFails(t *testing.T) {
	c := newTestClient(t)
	p := playAll(t, theNext)
	dial := c.rest.DialContext
	ask(t, c, p.url, "1")
	addr := strings.TrimSuffix(strings.TrimPrefix(p.url, "http://"), "/mcp")
	kept := c.plain.idle[addr][0]
	kept.Conn, kept.talk = &brokenConn{Conn: kept.Conn}, nil
	if status, _ := ask(t, c, p.url, "2"); status != 200 || p.conns.Load() != 2 {
		t.Errorf("status %d on %d connections", status, p.conns.Load())
	}
	c.CloseIdleConnections()
	c.rest.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return &brokenConn{Conn: conn}, err
	}
	var notSent *NotSentError
	if _, err := c.RoundTrip(newPost(t.Context(), p.url, "3")); !errors.As(err, &notSent) {
		t.Errorf("got %v", err)
	}
}

// A brokenConn fails every write.
type brokenConn struct{ net.Conn }

func (*brokenConn) Write([]byte) (int, error) { return 0, net.ErrClosed }
