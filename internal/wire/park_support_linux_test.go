package wire

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"mcp-all-in-one/internal/loop"
)

// A parkLane defers everything that it does not refuse to begin.
type parkLane struct {
	waiting chan parkCall
	begins  func(body string) bool // nil for all
	idle    chan struct{}
}

// Idle implements Lane.
func (l parkLane) Idle() {
	select {
	case l.idle <- struct{}{}:
	default:
	}
}

// A parkCall is a request that waits for its answer.
type parkCall struct {
	deferral
	begun bool // in a loop
}

func (l parkLane) Serve(w LaneWriter, body []byte) bool {
	w.Defer()
	l.waiting <- parkCall{deferral{w, string(body)}, false}
	return true
}

func (l parkLane) Begin(w LaneWriter, body []byte, t *loop.Turn) bool {
	if t.Loop == nil || l.begins != nil && !l.begins(string(body)) {
		return false
	}
	w.Defer()
	l.waiting <- parkCall{deferral{w, string(body)}, true}
	return true
}

// parks is a handler that says its name, and sets a lane where there can be one.
func parks(l Lane) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "handler %s", body)
		if front, ok := w.(LaneWriter); ok {
			front.SetLane(l)
		}
	}
}

// A parkedClient is the client of a connection that waits in a loop.
type parkedClient struct {
	net.Conn
	r     *bufio.Reader
	calls chan parkCall
	idle  chan struct{} // of any client
}

// serveParked serves with such a lane; clients of it begin parked.
func serveParked(t *testing.T, begins func(string) bool, change ...func(*http.Server)) (*Front, func() *parkedClient) {
	t.Helper()
	l := parkLane{make(chan parkCall, 100), begins, make(chan struct{}, 1)}
	ln, s := listen(t), newServer(parks(l))
	for _, fn := range change {
		fn(s)
	}
	f := NewFront(s, ln)
	done := make(chan error, 1)
	go func() { done <- f.Serve() }()
	t.Cleanup(func() {
		f.Close()
		if err := <-done; err != http.ErrServerClosed {
			t.Errorf("serving ended with %v", err)
		}
	})
	return f, func() *parkedClient {
		c, r := open(t, ln.Addr().String())
		p := &parkedClient{c, r, l.waiting, l.idle}
		p.settle(t)
		return p
	}
}

// settle sends requests until one is begun in a loop.
func (p *parkedClient) settle(t *testing.T) {
	t.Helper()
	for range 10 {
		if p.ask(t, "settle").begun {
			return
		}
	}
	t.Fatal("it does not park")
}

// ask has one request answered by the lane.
func (p *parkedClient) ask(t *testing.T, body string) parkCall {
	t.Helper()
	call := p.send(t, body)
	call.answer("answer to " + body)
	p.hear(t, "answer to "+body)
	return call
}

// send returns the request that waits for its answer.
func (p *parkedClient) send(t *testing.T, body string) parkCall {
	t.Helper()
	io.WriteString(p, post(body))
	return p.call(t, body)
}

func (p *parkedClient) call(t *testing.T, body string) parkCall {
	t.Helper()
	select {
	case call := <-p.calls:
		if call.body != body {
			t.Errorf("%.40q came, not %.40q", call.body, body)
		}
		return call
	case <-time.After(10 * time.Second):
		t.Fatalf("%.40q does not come", body)
		panic("unreachable")
	}
}

func (p *parkedClient) hear(t *testing.T, want string) {
	t.Helper()
	if got := hear(t, p.r); got != want {
		t.Errorf("%.40q, want %.40q", got, want)
	}
}

// ended checks that nothing follows.
func (p *parkedClient) ended(t *testing.T) {
	t.Helper()
	if rest, err := io.ReadAll(p.r); len(rest) > 0 || err != nil {
		t.Errorf("%.40q, %v at the end", rest, err)
	}
}

// counted says how many connections there are, and how many of them are parked.
func (f *Front) counted() (all, parked int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		c.mu.Lock()
		if c.parking.on {
			parked++
		}
		c.mu.Unlock()
	}
	return len(f.conns), parked
}

// awaitCounted waits until there are so many.
func (f *Front) awaitCounted(t *testing.T, all, parked int) {
	t.Helper()
	await(t, fmt.Sprintf("%d connections, %d parked", all, parked), func() bool {
		a, p := f.counted()
		return a == all && p == parked
	})
}

// placesTaken is how many listeners all loops have.
func placesTaken() (n int) {
	for _, l := range loop.All() {
		n += l.Files()
	}
	return n
}

// noPlaces fails the test when places in a loop are left after its clean-up.
func noPlaces(t *testing.T) {
	t.Helper()
	before := placesTaken()
	t.Cleanup(func() { await(t, "all places are left", func() bool { return placesTaken() <= before }) })
}
