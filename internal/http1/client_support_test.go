//go:build linux || darwin

package http1

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcp-all-in-one/internal/mcptest/must"
)

const theNext = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext"

// A player is a TCP server that sends given bytes.
type player struct {
	url   string
	conns atomic.Int32 // accepted so far
	open  atomic.Int32 // not closed by either side
	mu    sync.Mutex
	all   []net.Conn
	wait  sync.WaitGroup
}

// play runs fn for every connection, and closes it afterwards.
func play(tb testing.TB, fn func(conn net.Conn, br *bufio.Reader)) *player {
	tb.Helper()
	ln := must.Listen(tb)
	p := &player{url: "http://" + ln.Addr().String() + "/mcp"}
	p.wait.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			p.conns.Add(1)
			p.open.Add(1)
			p.mu.Lock()
			p.all = append(p.all, conn)
			p.mu.Unlock()
			p.wait.Go(func() {
				defer p.open.Add(-1)
				defer conn.Close()
				fn(conn, bufio.NewReader(conn))
			})
		}
	})
	tb.Cleanup(func() {
		ln.Close()
		p.mu.Lock()
		for _, conn := range p.all {
			conn.Close()
		}
		p.mu.Unlock()
		p.wait.Wait()
	})
	return p
}

// playAll answers every request with the same bytes.
func playAll(tb testing.TB, answer string) *player {
	tb.Helper()
	return play(tb, func(conn net.Conn, br *bufio.Reader) {
		for {
			if _, _, err := heardRequest(br); err != nil {
				return
			}
			if _, err := io.WriteString(conn, answer); err != nil {
				return
			}
		}
	})
}

// heardRequest reads a request the way net/http does.
func heardRequest(br *bufio.Reader) (*http.Request, string, error) {
	req, err := http.ReadRequest(br)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(req.Body)
	return req, string(body), err
}

// noLeaks fails the test when goroutines are left after all of its clean-up.
func noLeaks(tb testing.TB) {
	tb.Helper()
	before := goleak.IgnoreCurrent()
	tb.Cleanup(func() { goleak.VerifyNone(tb, before) })
}

func newTransport() *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		IdleConnTimeout:        time.Minute,
		MaxIdleConnsPerHost:    1024,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
	}
}

func newTestClient(tb testing.TB) *Transport {
	tb.Helper()
	noLeaks(tb)
	c := NewTransport(newTransport())
	tb.Cleanup(c.CloseIdleConnections)
	return c
}

func newPost(ctx context.Context, url, body string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return req
}

// roundTrip returns the response to a small request.
func roundTrip(t *testing.T, rt http.RoundTripper, url string) *http.Response {
	t.Helper()
	resp, err := rt.RoundTrip(newPost(t.Context(), url, "{}"))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// ask returns the status and the body of a response.
func ask(tb testing.TB, rt http.RoundTripper, url, body string) (int, string) {
	tb.Helper()
	resp, err := rt.RoundTrip(newPost(tb.Context(), url, body))
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return resp.StatusCode, string(got)
}
