package wire

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// moodyServer answers with the body of the request, in every way.
func moodyServer(t *testing.T) *player {
	return play(t, func(conn net.Conn, br *bufio.Reader) {
		for {
			_, body, err := heardRequest(br)
			if err != nil {
				return
			}
			answer := asJSON(fmt.Sprintf(ok11+"Content-Length: %d\r\n\r\n%s", len(body), body))
			if rand.IntN(2) == 0 {
				answer = fmt.Sprintf("%s%x\r\nanswer %s\r\n0\r\n\r\n", stream11, len(body)+len("answer "), body)
			}
			switch rand.IntN(12) {
			case 0: // in pieces
				at := 1 + rand.IntN(len(answer)-1)
				io.WriteString(conn, answer[:at])
				<-time.After(rand.N(time.Millisecond))
				answer = answer[at:]
			case 1: // not plain
				answer = asJSON(fmt.Sprintf(ok11+"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body))
			case 2:
				<-time.After(rand.N(time.Millisecond))
			case 3:
				answer += "junk" // it costs the connection
			}
			if _, err := io.WriteString(conn, answer); err != nil {
				return
			}
		}
	})
}

// keepOne makes a call on a connection that is kept then.
func keepOne(t *testing.T, c *Client, url, body string) {
	resp, err := posting{c}.RoundTrip(newPost(t.Context(), url, body))
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Error(err)
	}
}

// spoil has the server act on the connection that would be used next.
func spoil(t *testing.T, c *Client, p *player, act func(net.Conn)) {
	t.Helper()
	kept := c.pool.get(strings.TrimSuffix(strings.TrimPrefix(p.url, "http://"), "/mcp"), nil, time.Minute)
	p.mu.Lock()
	for _, conn := range p.all {
		if conn.RemoteAddr().String() == kept.LocalAddr().String() {
			act(conn)
		}
	}
	p.mu.Unlock()
	await(t, "it is stale", func() bool {
		quiet := true
		_ = kept.talk.raw.Control(func(fd uintptr) { quiet = kept.talk.quiet(int(fd)) })
		return !quiet
	})
	c.pool.put(kept, c.rest)
}

// endSometime ends an exchange between any two of its steps. It returns what
// waits for that and says whether it was before the outcome, as far as is known.
func endSometime(e *errand, cancel func()) (wait func()) {
	done := make(chan struct{})
	end := func() {
		defer close(done)
		cancel()
		e.post.End()
	}
	if rand.IntN(2) == 0 {
		go end()
	} else {
		time.AfterFunc(rand.N(time.Millisecond), end)
	}
	return func() { <-done }
}

// TestStartRandom makes calls at once, of which some are ended: every one has one
// outcome, and it is its own.
func TestStartRandom(t *testing.T) {
	c := newStartClient(t)
	p := moodyServer(t)
	var begun, whole, ended atomic.Int64
	until := time.Now().Add(1500 * time.Millisecond)
	var callers sync.WaitGroup
	for id := range 16 {
		callers.Go(func() {
			post := &Post{}
			for n := 0; time.Now().Before(until) && !t.Failed(); n++ {
				ctx, cancel := context.WithCancel(t.Context())
				e := newErrand(ctx, t)
				post.Reset()
				e.post = post // used again and again
				wait, ends := func() {}, rand.IntN(4) == 0
				if ends {
					wait = endSometime(e, cancel)
				}
				body := fmt.Sprintf("%d.%d.%s", id, n, strings.Repeat("x", rand.IntN(40)*rand.IntN(40)))
				if !e.begin(c, p.url, body) {
					wait()
					cancel()
					keepOne(t, c, p.url, "another connection")
					continue
				}
				begun.Add(1)
				got := e.outcome()
				wait()
				switch {
				case got.err == nil && strings.TrimPrefix(got.body, "answer ") != body:
					t.Errorf("%.40q for %.40q", got.body, body)
				case got.err != nil && !ends:
					t.Errorf("%.40q: %v", body, got.err)
				case got.err != nil:
					ended.Add(1)
				case got.whole:
					whole.Add(1)
				}
				cancel()
				if len(e.result) > 0 || e.told.Load() != 1 {
					t.Errorf("told %d times", e.told.Load())
				}
			}
		})
	}
	callers.Wait()
	if whole.Load() == 0 || ended.Load() == 0 {
		t.Errorf("%d begun, %d whole, %d ended", begun.Load(), whole.Load(), ended.Load())
	}
}
