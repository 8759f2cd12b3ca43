package duplex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestConnCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := pair(t, nil, echo)
		for range 3 {
			resp, err := c.Call(t.Context(), &jsonrpc.Request{Method: "ping", Params: []byte(`{"a":1}`)})
			if err != nil || string(resp.Result) != `{"a":1}` {
				t.Fatalf("got %v, %v", resp, err)
			}
			resp.Release()
		}
		if n := c.Pending(); n != 0 {
			t.Errorf("%d calls pending", n)
		}
	})
}

func TestConnBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := raw(t, ConnOptions{Handler: echo})
		go c.Call(t.Context(), &jsonrpc.Request{Method: "a\"b", Params: []byte(`{}`)})
		expect(t, s, `{"jsonrpc":"2.0","id":1,"method":"a\"b","params":{}}`)
		go c.Call(t.Context(), &jsonrpc.Request{Method: "ping"})
		expect(t, s, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		must.OK(t, c.Notify(t.Context(), &jsonrpc.Notification{Method: "note"}))
		expect(t, s, `{"jsonrpc":"2.0","method":"note"}`)
		send(t, s, `{"jsonrpc":"2.0","id":"é\u0041","method":"ping","params":{"x":1.0}}`)
		expect(t, s, `{"jsonrpc":"2.0","result":{"x":1.0},"id":"é\u0041"}`)
	})
}

// TestConnReentrant has both sides call each other while they answer a request.
func TestConnReentrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deeper funcs
		deeper.handle = func(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
			n := len(req.Params) - len(`{"x":""}`)
			if n == 0 {
				return done(`{"depth":0}`)
			}
			return from.Call(ctx, &jsonrpc.Request{Method: "deeper", Params: []byte(`{"x":"` + strings.Repeat("x", n-1) + `"}`)})
		}
		a, b := pair(t, deeper, deeper)
		var all sync.WaitGroup
		for i := range 60 {
			c := []*Conn{a, b}[i%2]
			all.Go(func() {
				resp, err := c.Call(t.Context(), &jsonrpc.Request{Method: "deeper", Params: []byte(`{"x":"` + strings.Repeat("x", i%4) + `"}`)})
				if err != nil || string(resp.Result) != `{"depth":0}` {
					t.Errorf("got %v, %v", resp, err)
				}
			})
		}
		all.Wait()
	})
}

func TestConnOutcomes(t *testing.T) {
	var lost drops
	own := &jsonrpc.Error{Code: -32042, Message: "ask", Data: []byte(`{"a":1}`)}
	h := funcs{handle: func(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
		switch req.Method {
		case "own":
			return nil, own
		case "wrapped":
			return nil, fmt.Errorf("calling: %w", own)
		case "raw":
			return &jsonrpc.Response{Err: &jsonrpc.Error{Code: 1, Raw: []byte(`{"code":1,"message":"m","extra":true}`)}}, nil
		case "plain":
			return nil, errors.New("disk on fire")
		case "panic":
			panic("boom")
		case "nothing":
			return nil, nil
		}
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method not found")
	}}
	synctest.Test(t, func(t *testing.T) {
		s, _ := raw(t, ConnOptions{Handler: h, Strict: true, OnDropped: lost.add})
		for _, c := range []struct{ method, want string }{
			{"own", `{"code":-32042,"message":"ask","data":{"a":1}}`},
			{"wrapped", `{"code":-32042,"message":"ask","data":{"a":1}}`},
			{"raw", `{"code":1,"message":"m","extra":true}`},
			{"plain", `{"code":-32603,"message":"disk on fire"}`},
			{"panic", `{"code":-32603,"message":"internal error"}`},
			{"nothing", `{"code":-32603,"message":"internal error: no answer"}`},
			{"else", `{"code":-32601,"message":"method not found"}`},
		} {
			send(t, s, `{"jsonrpc":"2.0","id":1,"method":"`+c.method+`"}`)
			expect(t, s, `{"jsonrpc":"2.0","error":`+c.want+`,"id":1}`)
		}
	})
	if lost.String() != "panic" {
		t.Errorf("dropped %s", &lost)
	}
}

func TestConnWithoutHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := raw(t, ConnOptions{})
		send(t, s, `{"jsonrpc":"2.0","method":"note"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		expect(t, s, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"method not found: ping"},"id":1}`)
	})
}

// TestConnFrom uses from after the request is answered.
func TestConnFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept jsonrpc.Peer
		s, _ := raw(t, ConnOptions{Strict: true, Handler: funcs{handle: func(ctx context.Context, from jsonrpc.Peer, _ *jsonrpc.Request) (*jsonrpc.Response, error) {
			kept = from
			if err := from.Notify(ctx, &jsonrpc.Notification{Method: "progress"}); err != nil {
				t.Error(err)
			}
			return done(`{}`)
		}}})
		send(t, s, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		expect(t, s, `{"jsonrpc":"2.0","method":"progress"}`)
		expect(t, s, `{"jsonrpc":"2.0","result":{},"id":1}`)
		if err := kept.Notify(t.Context(), &jsonrpc.Notification{Method: "progress"}); err != nil {
			t.Errorf("a late notification: %v", err)
		}
		if _, err := kept.Call(t.Context(), &jsonrpc.Request{Method: "ping"}); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("a late call: %v", err)
		}
		send(t, s, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		expect(t, s, `{"jsonrpc":"2.0","method":"progress"}`)
	})
}

// TestConnRelease checks that a result is released once it is written.
func TestConnRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var released atomic.Int32
		c, _ := pair(t, nil, funcs{handle: func(context.Context, jsonrpc.Peer, *jsonrpc.Request) (*jsonrpc.Response, error) {
			return jsonrpc.NewResponse([]byte(`{"big":true}`), func() { released.Add(1) }), nil
		}})
		if _, err := c.Call(t.Context(), &jsonrpc.Request{Method: "ping"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := released.Load(); n != 1 {
			t.Errorf("released %d times", n)
		}
	})
}

func TestConnEOF(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		finish := make(chan struct{})
		c := NewConn(b, ConnOptions{Strict: true, Handler: funcs{handle: func(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
			<-finish
			if ctx.Err() != nil {
				t.Errorf("cancelled by the end of the stream: %v", context.Cause(ctx))
			}
			if _, err := from.Call(ctx, &jsonrpc.Request{Method: "ask"}); !errors.Is(err, jsonrpc.ErrClosed) {
				t.Errorf("asking nobody: %v", err)
			}
			return done(`{}`)
		}}})
		send(t, a, `{"jsonrpc":"2.0","id":1,"method":"slow"}`)
		synctest.Wait()
		a.(*pipeEnd).out.close(false) // the peer sends nothing more, but still reads
		synctest.Wait()
		select {
		case <-c.Done():
			t.Fatal("done with a request in flight")
		default:
		}
		close(finish)
		expect(t, a, `{"jsonrpc":"2.0","result":{},"id":1}`)
		<-c.Done()
		if err := c.Err(); err != nil {
			t.Errorf("a clean end is no error: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestConnClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var causes []error
		wait := funcs{handle: func(ctx context.Context, _ jsonrpc.Peer, _ *jsonrpc.Request) (*jsonrpc.Response, error) {
			<-ctx.Done()
			causes = append(causes, context.Cause(ctx))
			return nil, ctx.Err()
		}}
		a, b := pair(t, nil, wait)
		failed := make(chan error)
		go func() {
			_, err := a.Call(t.Context(), &jsonrpc.Request{Method: "slow"})
			failed <- err
		}()
		synctest.Wait()
		var both sync.WaitGroup
		both.Go(func() { b.Close() })
		both.Go(func() { b.Close() })
		if err := <-failed; !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("the call failed with %v", err)
		}
		both.Wait()
		if len(causes) != 1 || !errors.Is(causes[0], jsonrpc.ErrClosed) {
			t.Errorf("causes %v", causes)
		}
		if !errors.Is(b.Err(), jsonrpc.ErrClosed) || a.Err() != nil {
			t.Errorf("errors %v and %v", b.Err(), a.Err())
		}
		if _, err := b.Call(t.Context(), &jsonrpc.Request{Method: "x"}); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("calling a closed connection: %v", err)
		}
		if err := b.Notify(t.Context(), &jsonrpc.Notification{Method: "x"}); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("notifying a closed connection: %v", err)
		}
	})
}

func TestConnManyRequests(t *testing.T) {
	t.Run("fault/S11", func(t *testing.T) {
		const n = 10_000
		s, _ := raw(t, ConnOptions{Handler: echo, Strict: true})
		go func() {
			for i := range n {
				s.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"n":%d}}`, i, i))
			}
		}()
		seen := make(map[string]bool, n)
		for range n {
			msg := []byte(next(t, s))
			id := string(jsonrpc.Get(msg, "id"))
			if string(jsonrpc.Get(msg, "result", "n")) != id || seen[id] {
				t.Fatalf("got %s", msg)
			}
			seen[id] = true
		}
	})
}

// TestConnConcurrent calls from many goroutines and gives up some calls at
// once.
func TestConnConcurrent(t *testing.T) {
	c, _ := pair(t, nil, funcs{handle: func(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
		if req.Method == "wait" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return echo.handle(ctx, nil, req)
	}})
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			for i := range 200 {
				params := fmt.Appendf(nil, `{"g":%d,"i":%d}`, g, i)
				ctx, cancel := context.WithCancel(t.Context())
				req := &jsonrpc.Request{Method: "ping", Params: params}
				if i%7 == 0 {
					req.Method = "wait"
				}
				if i%7 <= 1 {
					go cancel()
				}
				resp, err := c.Call(ctx, req)
				switch {
				case err == nil && string(resp.Result) != string(params):
					t.Errorf("%s answered with %s", params, resp.Result)
				case err != nil && !errors.Is(err, context.Canceled):
					t.Errorf("%s failed with %v", params, err)
				}
				resp.Release()
				cancel()
			}
		})
	}
	all.Wait()
	if n := c.Pending(); n != 0 {
		t.Errorf("%d calls pending", n)
	}
}

func TestConnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := raw(t, ConnOptions{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		_, err := c.Call(ctx, &jsonrpc.Request{Method: "slow"})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		next(t, s)
		expect(t, s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"context deadline exceeded"}}`)
	})
}

// Pending returns the number of our calls that wait for an answer.
func (c *Conn) Pending() int { return int(c.calls.pending.Load()) }
