package wire

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcp-all-in-one/internal/loop"
)

// An errand is one exchange that Start begins, and how it ends.
type errand struct {
	t      *testing.T
	post   *Post
	ctx    context.Context
	found  string
	told   atomic.Int32 // how often Then was called
	result chan result
}

type result struct {
	whole bool
	body  string
	code  int
	err   error
}

func (e *errand) Context() context.Context { return e.ctx }

func (e *errand) Whole(t *loop.Turn, b []byte, release func()) {
	if e.told.Add(1) != 1 || t == nil || t.Loop == nil {
		e.t.Errorf("told %d times, turn %v", e.told.Load(), t)
	}
	body := string(b)
	release()
	e.result <- result{whole: true, body: body, code: 200}
}

// Event takes a chunk for the answer that says so.
func (e *errand) Event(b []byte) bool {
	text, ok := strings.CutPrefix(string(b), "answer ")
	e.found = text
	return ok
}

func (e *errand) Found(t *loop.Turn, release func()) { e.Whole(t, []byte(e.found), release) }

func (e *errand) Rest() {
	if n := e.told.Add(1); n != 1 {
		e.t.Errorf("told %d times", n)
	}
	length, other, err := e.post.Receive(e)
	r := result{code: 200, err: err}
	switch {
	case err != nil:
	case other != nil:
		var b []byte
		b, r.err = io.ReadAll(other.Body)
		r.code, r.body = other.StatusCode, string(b)
	default:
		b := make([]byte, length)
		r.err = e.post.Read(b)
		r.body = string(b)
	}
	e.result <- r
}

// begin reports false where there is no kept connection.
func (e *errand) begin(c *Client, url, body string) bool {
	req := newPost(e.t.Context(), url, body)
	to := c.Target(req.URL, "")
	msg, ok := to.AppendHead(e.post.Buffer(), req.Header)
	if !ok {
		e.t.Error("no head")
	}
	return e.post.Start(nil, to, append(msg, body...), len(msg), e)
}

func newErrand(ctx context.Context, t *testing.T) *errand {
	return &errand{t: t, post: &Post{}, ctx: ctx, result: make(chan result, 2)}
}

// outcome waits for that.
func (e *errand) outcome() result {
	e.t.Helper()
	select {
	case r := <-e.result:
		return r
	case <-time.After(10 * time.Second):
		e.t.Fatal("no outcome")
		panic("unreachable")
	}
}

func newStartClient(t *testing.T) *Client {
	loop.All() // they live as long as the process
	noPlaces(t)
	return newTestClient(t)
}

// scripted answers a request with what its body names; the rest with the next.
func scripted(t *testing.T, scripts map[string]func(net.Conn)) *player {
	return play(t, func(conn net.Conn, br *bufio.Reader) {
		for {
			_, body, err := heardRequest(br)
			if err != nil {
				return
			}
			if act := scripts[body]; act != nil {
				act(conn)
			} else if _, err := io.WriteString(conn, asJSON(theNext)); err != nil {
				return
			}
		}
	})
}

func says(pieces ...string) func(net.Conn) {
	return func(conn net.Conn) {
		for i, p := range pieces {
			if i > 0 {
				<-time.After(5 * time.Millisecond) // or they would come together
			}
			io.WriteString(conn, p)
		}
	}
}

const stream11 = ok11 + "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func TestStart(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	tests := []struct {
		name  string
		says  []string
		ends  bool // the connection
		want  result
		fails bool
	}{
		{name: "plain", says: []string{"", asJSON(theNext)}, want: result{whole: true, body: "next", code: 200}},
		{name: "in pieces", says: []string{asJSON(ok11 + "Content-Length: 9\r\n\r\nin pi"), "ec", "es"}, want: result{whole: true, body: "in pieces", code: 200}},
		{name: "head in pieces", says: []string{"HTTP/1.1 2", asJSON(theNext)[10:]}, want: result{body: "next", code: 200}},
		{name: "long", says: []string{asJSON(fmt.Sprintf(ok11+"Content-Length: %d\r\n\r\n%s", len(long), long))}, want: result{body: long, code: 200}},
		{name: "another status", says: []string{asJSON("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno")}, want: result{body: "no", code: 404}},
		{name: "chunked", says: []string{asJSON(ok11 + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")}, want: result{body: "abc", code: 200}},
		{name: "stream", says: []string{"", stream11 + "9\r\nanswer it\r\n0\r\n\r\n"}, want: result{whole: true, body: "it", code: 200}},
		{name: "stream in pieces", says: []string{"", stream11, "9", "\r\nans", "wer it", "\r\n0\r\n\r", "\n"}, want: result{whole: true, body: "it", code: 200}},
		{name: "stream with another event", says: []string{stream11 + "5\r\nother\r\n", "9\r\nanswer it\r\n0\r\n\r\n"}, want: result{body: "otheranswer it", code: 200}},
		{name: "stream of two chunks", says: []string{stream11 + "9\r\nanswer it\r\n1\r\n!\r\n0\r\n\r\n"}, want: result{body: "answer it!", code: 200}},
		{name: "stream with an extension", says: []string{stream11 + "9;a=b\r\nanswer it\r\n0\r\n\r\n"}, want: result{body: "answer it", code: 200}},
		{name: "stream that is long", says: []string{stream11 + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(long), long)}, want: result{body: long, code: 200}},
		{name: "stream of nothing", says: []string{stream11 + "0\r\n\r\n"}, want: result{code: 200}},
		{name: "stream that breaks off", says: []string{stream11 + "9\r\nans"}, ends: true, fails: true},
		{name: "stream with a wrong chunk", says: []string{stream11 + "9\r\nanswer it!\r\n0\r\n\r\n"}, ends: true, fails: true},
		{name: "too much", says: []string{asJSON(theNext) + "junk"}, ends: true, want: result{body: "next", code: 200}},
		{name: "closed", ends: true, fails: true},
		{name: "closed in the answer", says: []string{asJSON(ok11 + "Content-Length: 9\r\n\r\nhalf")}, ends: true, fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newStartClient(t)
			p := scripted(t, map[string]func(net.Conn){"act": func(conn net.Conn) {
				says(tt.says...)(conn)
				if tt.ends {
					conn.Close()
				}
			}})
			ask(t, posting{c}, p.url, "{}")
			wholes := 0
			for i := range 3 {
				if !tt.ends { // the end of a stream may come later
					await(t, "a connection is kept", func() bool {
						c.pool.mu.Lock()
						defer c.pool.mu.Unlock()
						return c.pool.total == 1
					})
				}
				e := newErrand(t.Context(), t)
				if !e.begin(c, p.url, "act") {
					if !tt.ends || i == 0 {
						t.Fatal("no connection was kept")
					}
					ask(t, posting{c}, p.url, "{}")
					continue
				}
				got := e.outcome()
				if got.whole { // a goroutine reads what comes before Start is through
					wholes++
				}
				if got.whole = got.whole || tt.want.whole; wholes == 0 && tt.want.whole && i == 2 {
					t.Error("no answer was read by a loop")
				}
				if failed := got.err != nil; failed != tt.fails || !failed && got != tt.want {
					t.Errorf("got %.80v, want %.80v", fmt.Sprint(got), fmt.Sprint(tt.want))
				}
			}
			if !tt.ends && p.conns.Load() != 1 {
				t.Errorf("%d connections", p.conns.Load())
			}
		})
	}
}
