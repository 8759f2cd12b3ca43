//go:build linux || darwin

package http1

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/mcptest/random"
)

// misbehave answers a request in one of the ways in which servers misbehave. It
// reports false if the connection must be closed.
func misbehave(r *rand.Rand, conn net.Conn, body string) bool {
	measured := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	chunked := fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	switch r.IntN(10) {
	case 0: // a response without a request
		io.WriteString(conn, measured+theNext)
	case 1:
		io.WriteString(conn, measured[:r.IntN(len(measured))])
		return false
	case 2:
		io.WriteString(conn, chunked[:r.IntN(len(chunked))])
		return false
	case 3:
		io.WriteString(conn, measured)
		return false
	case 4:
		io.WriteString(conn, strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", r.IntN(30))+chunked)
	case 5:
		for i := range chunked {
			io.WriteString(conn, chunked[i:i+1])
		}
	case 6:
		io.WriteString(conn, chunked+"\r\n")
	default:
		io.WriteString(conn, measured)
	}
	return true
}

// TestClientRandom checks that, whatever servers do and whenever callers give up,
// no response reaches another call and no call is sent twice.
func TestClientRandom(t *testing.T) {
	c, seed := newTestClient(t), random.Seed(t)
	var conns atomic.Uint64
	var mu sync.Mutex
	seen := make(map[string]int)
	p := play(t, func(conn net.Conn, br *bufio.Reader) {
		r := rand.New(rand.NewPCG(seed, conns.Add(1)))
		for {
			_, body, err := heardRequest(br)
			if err != nil {
				return
			}
			mu.Lock()
			seen[string(body)]++
			mu.Unlock()
			if !misbehave(r, conn, string(body)) {
				return
			}
		}
	})
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(caller)<<32))
			for i := range 100 {
				askOnce(t, r, c, p.url, fmt.Sprintf("%d-%d-%s", caller, i, strings.Repeat("z", r.IntN(300))))
			}
		})
	}
	callers.Wait()
	mu.Lock()
	defer mu.Unlock()
	for body, n := range seen {
		if n > 1 {
			t.Errorf("%.20q was sent %d times", body, n)
		}
	}
}

// askOnce sends one call. At times it cancels the call, early or during the
// response.
func askOnce(t *testing.T, r *rand.Rand, c http.RoundTripper, url, body string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if r.IntN(5) == 0 {
		pause := r.IntN(50)
		go func() {
			for range pause {
				runtime.Gosched()
			}
			cancel()
		}()
	}
	resp, err := c.RoundTrip(newPost(ctx, url, body))
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if r.IntN(10) == 0 {
		return
	}
	if got, err := io.ReadAll(resp.Body); err == nil && string(got) != body {
		t.Errorf("%.20q is the answer to %.20q", got, body)
	}
}
