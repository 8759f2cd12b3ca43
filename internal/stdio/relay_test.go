//go:build linux || darwin

package stdio_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/stdio"
)

// pair connects two streams with pipes.
func pair(t *testing.T) (a, b *stdio.Stream) {
	t.Helper()
	ar, bw := pipe(t)
	br, aw := pipe(t)
	return stdio.NewStream(ar, aw, stdio.StreamOptions{}), stdio.NewStream(br, bw, stdio.StreamOptions{})
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// A passer passes every request on to one peer, and panics when told to.
type passer struct {
	to *jsonrpc.Conn
	// handled counts what could not be passed on.
	mu      sync.Mutex
	handled int
}

func (p *passer) Relay(ctx context.Context, t *jsonrpc.Turn, _ jsonrpc.Peer, req *jsonrpc.Request, done jsonrpc.Completion) bool {
	if req.Method == "panic" {
		panic("told to")
	}
	return p.to.Begin(ctx, t, &jsonrpc.Request{Method: req.Method, Params: req.Params}, done)
}

func (p *passer) Handle(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	p.mu.Lock()
	p.handled++
	p.mu.Unlock()
	return p.to.Call(ctx, &jsonrpc.Request{Method: req.Method, Params: req.Params})
}

func (p *passer) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

// A server echoes params; it answers "hold" when it is cancelled or let go.
type server struct {
	held      chan struct{} // hears of each that is held
	cancelled chan error
	release   chan struct{}
}

func (s *server) Handle(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if req.Method == "hold" {
		s.held <- struct{}{}
		select {
		case <-ctx.Done():
			s.cancelled <- context.Cause(ctx)
		case <-s.release:
		}
	}
	return &jsonrpc.Response{Result: append([]byte(nil), req.Params...)}, nil
}

func (s *server) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

// A bench is a server behind one connection that clients share.
type bench struct {
	server *server
	back   *jsonrpc.Conn
	behind *jsonrpc.Conn
}

func newBench(t *testing.T) *bench {
	b := &bench{server: &server{held: make(chan struct{}, 16), cancelled: make(chan error, 16), release: make(chan struct{})}}
	near, far := pair(t)
	b.behind = jsonrpc.NewConn(far, jsonrpc.ConnOptions{Handler: b.server, CancelMethod: "cancel", MaxInFlight: 1000})
	b.back = jsonrpc.NewConn(near, jsonrpc.ConnOptions{CancelMethod: "cancel"})
	t.Cleanup(func() {
		b.back.Close()
		b.behind.Close()
	})
	return b
}

// client connects a client.
func (b *bench) client(t *testing.T) (*jsonrpc.Conn, *passer) {
	near, front := b.raw(t)
	c := jsonrpc.NewConn(near, jsonrpc.ConnOptions{CancelMethod: "cancel"})
	t.Cleanup(func() { c.Close() })
	return c, front
}

// raw connects a client that reads and writes for itself.
func (b *bench) raw(t *testing.T) (*stdio.Stream, *passer) {
	near, far := pair(t)
	p := &passer{to: b.back}
	front := jsonrpc.NewConn(far, jsonrpc.ConnOptions{Handler: p, Strict: true, CancelMethod: "cancel"})
	t.Cleanup(func() {
		near.Close()
		front.Close()
	})
	return near, p
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func echo(t *testing.T, c *jsonrpc.Conn, text string) {
	t.Helper()
	params := fmt.Sprintf(`{"text":%q}`, text)
	resp, err := c.Call(within(t), &jsonrpc.Request{Method: "echo", Params: []byte(params)})
	if err != nil || resp.Err != nil {
		t.Errorf("calling: %v, %+v", err, resp)
		return
	}
	defer resp.Release()
	if string(resp.Result) != params {
		t.Errorf("got %.80s, want %.80s", resp.Result, params)
	}
}

func TestRelay(t *testing.T) {
	t.Run("every answer to its call, small and large", func(t *testing.T) {
		b := newBench(t)
		var all sync.WaitGroup
		for n := range 4 {
			c, _ := b.client(t)
			for i := range 100 {
				all.Go(func() { echo(t, c, fmt.Sprintf("%d-%d-%s", n, i, strings.Repeat("x", i*i*20))) })
			}
		}
		all.Wait()
	})
	t.Run("cancelled", func(t *testing.T) {
		b := newBench(t)
		c, _ := b.client(t)
		ctx, cancel := context.WithCancelCause(within(t))
		go func() {
			<-b.server.held
			cancel(errors.New("enough"))
		}()
		if _, err := c.Call(ctx, &jsonrpc.Request{Method: "hold"}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if err := <-b.server.cancelled; !errors.Is(err, jsonrpc.ErrCancelled) {
			t.Errorf("the server's call ended with %v", err)
		}
		echo(t, c, "after")
	})
	t.Run("cancelled among others, which use the same memory", func(t *testing.T) {
		b := newBench(t)
		c, _ := b.client(t)
		var all sync.WaitGroup
		for n := range 4 {
			all.Go(func() {
				for i := range 100 {
					echo(t, c, fmt.Sprintf("%d-%d", n, i))
				}
			})
			all.Go(func() {
				for i := range 100 {
					ctx, cancel := context.WithCancel(within(t))
					all.Go(cancel)
					resp, err := c.Call(ctx, &jsonrpc.Request{Method: "echo", Params: fmt.Appendf(nil, `{"n":%d}`, i)})
					if err == nil && string(resp.Result) != fmt.Sprintf(`{"n":%d}`, i) || err != nil && !errors.Is(err, context.Canceled) {
						t.Errorf("call %d: %+v, %v", i, resp, err)
					}
				}
			})
		}
		all.Wait()
	})
	t.Run("the server ends", func(t *testing.T) {
		b := newBench(t)
		c, _ := b.client(t)
		go func() {
			<-b.server.held
			b.back.Close()
		}()
		resp, err := c.Call(within(t), &jsonrpc.Request{Method: "hold"})
		if err != nil || resp.Err == nil || !strings.Contains(resp.Err.Message, "closed") {
			t.Errorf("got %+v, %v", resp, err)
		}
	})
	t.Run("a panic ends one call", func(t *testing.T) {
		b := newBench(t)
		c, _ := b.client(t)
		resp, err := c.Call(within(t), &jsonrpc.Request{Method: "panic"})
		if err != nil || resp.Err == nil || resp.Err.Code != jsonrpc.CodeInternal {
			t.Errorf("got %+v, %v", resp, err)
		}
		echo(t, c, "after")
	})
	t.Run("passed on, not handled", func(t *testing.T) {
		b := newBench(t)
		c, p := b.client(t)
		for range 50 {
			echo(t, c, "small")
		}
		if p.handled != 0 {
			t.Errorf("%d of 50 small calls were not passed on", p.handled)
		}
	})
}

// TestRelaySlowClient is why a completion must not wait: a client that does not
// read its answers is no concern of the others.
func TestRelaySlowClient(t *testing.T) {
	b := newBench(t)
	slow, _ := b.raw(t)
	for i := range 60 {
		params := fmt.Sprintf(`{"text":%q}`, strings.Repeat("y", 30<<10))
		if err := slow.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"echo","params":%s}`, i, params)); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := b.client(t)
	for range 20 {
		echo(t, c, "quick")
	}
	seen := map[string]bool{}
	for len(seen) < 60 {
		msg, release, err := slow.Read()
		if err != nil {
			t.Fatalf("after %d answers: %v", len(seen), err)
		}
		id := string(jsonrpc.Get(msg, "id"))
		if seen[id] {
			t.Fatalf("two answers to %s", id)
		}
		seen[id] = true
		if release != nil {
			release()
		}
	}
}
