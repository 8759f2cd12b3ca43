package duplex

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// gate is a handler that blocks each request until it is released.
type gate struct {
	running atomic.Int32
	open    chan struct{}
}

func (g *gate) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	g.running.Add(1)
	defer g.running.Add(-1)
	if req.Method == "ask" {
		return from.Call(ctx, &jsonrpc.Request{Method: "question"})
	}
	<-g.open
	return done(`{}`)
}

func (g *gate) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

func TestConnMaxInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		s, _ := raw(t, ConnOptions{Handler: g, Strict: true, MaxInFlight: 3})
		for i := range 10 {
			send(t, s, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"hold"}`, i))
		}
		synctest.Wait()
		if n := g.running.Load(); n != 3 {
			t.Errorf("%d requests run", n)
		}
		if n := s.(*pipeEnd).out.count; n != 6 {
			t.Errorf("%d messages are unread, want 6: three run, one waits", n)
		}
		close(g.open)
		for range 10 {
			next(t, s)
		}
	})
}

// TestConnMaxInFlightAsking fills a connection with requests that all wait for
// the peer, whose answers come after more requests.
func TestConnMaxInFlightAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		close(g.open)
		s, _ := raw(t, ConnOptions{Handler: g, Strict: true, MaxInFlight: 2})
		for i := range 20 {
			send(t, s, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ask"}`, i))
		}
		for answers := 0; answers < 20; {
			msg := []byte(next(t, s))
			if jsonrpc.Get(msg, "method") == nil {
				answers++
				continue
			}
			send(t, s, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, jsonrpc.Get(msg, "id")))
		}
	})
}

// TestConnOpening sends requests directly after the one that opens the
// conversation.
func TestConnOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Bool
		s, _ := raw(t, ConnOptions{Strict: true, Handler: funcs{handle: func(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
			if req.Method == "initialize" {
				<-time.After(time.Second)
				opened.Store(true)
			} else if !opened.Load() {
				t.Errorf("%s runs before the conversation is open", req.Method)
			}
			return done(`{}`)
		}}})
		send(t, s, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		expect(t, s, `{"jsonrpc":"2.0","result":{},"id":1}`)
		expect(t, s, `{"jsonrpc":"2.0","result":{},"id":2}`)
	})
}

func TestConnNotificationOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		s, c := raw(t, ConnOptions{Handler: funcs{notify: func(_ context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
			if n.Method == "panic" {
				panic("boom")
			}
			got = append(got, n.Method)
		}}})
		called := make(chan []string)
		go func() {
			if _, err := c.Call(t.Context(), &jsonrpc.Request{Method: "work"}); err != nil {
				t.Error(err)
			}
			called <- slices.Clone(got) // no race: all notifications are delivered
		}()
		next(t, s)
		var want []string
		send(t, s, `{"jsonrpc":"2.0","method":"panic"}`)
		for i := range 500 {
			want = append(want, fmt.Sprint("n", i))
			send(t, s, fmt.Sprintf(`{"jsonrpc":"2.0","method":"n%d"}`, i))
		}
		send(t, s, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		if got := <-called; !slices.Equal(got, want) {
			t.Errorf("heard %d before the result: %v", len(got), got)
		}
	})
}

// TestConnSlowNotification has a handler that never returns.
func TestConnSlowNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost drops
		release := make(chan struct{})
		s, c := raw(t, ConnOptions{OnDropped: lost.add, Handler: funcs{notify: func(context.Context, jsonrpc.Peer, *jsonrpc.Notification) { <-release }}})
		defer close(release)
		answered := make(chan time.Duration)
		call := func() {
			start := time.Now()
			if _, err := c.Call(t.Context(), &jsonrpc.Request{Method: "work"}); err != nil {
				t.Error(err)
			}
			answered <- time.Since(start)
		}
		for i, want := range []time.Duration{patience, 0, 0} {
			go call()
			next(t, s)
			send(t, s, `{"jsonrpc":"2.0","method":"n"}`, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, i+1))
			if took := <-answered; took != want {
				t.Errorf("answer %d took %v, want %v", i+1, took, want)
			}
		}
		for range maxNotices {
			send(t, s, `{"jsonrpc":"2.0","method":"n"}`)
			synctest.Wait()
		}
		if want := "notification queue full; notification queue full"; lost.String() != want {
			t.Errorf("dropped %s", &lost)
		}
	})
}

// TestConnAskingNotification calls the peer from a notification's handler.
func TestConnAskingNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := make(chan error, 1)
		s, _ := raw(t, ConnOptions{Strict: true, Handler: funcs{notify: func(ctx context.Context, from jsonrpc.Peer, _ *jsonrpc.Notification) {
			_, err := from.Call(ctx, &jsonrpc.Request{Method: "roots/list"})
			heard <- err
		}}})
		start := time.Now()
		send(t, s, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		expect(t, s, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
		send(t, s, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		if err := <-heard; err != nil || time.Since(start) != 0 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// TestConnRequestAfterNotification: a notification before a request is handled
// before the request, unless it takes too long.
func TestConnRequestAfterNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard atomic.Int64
		s, _ := raw(t, ConnOptions{Strict: true, Handler: funcs{
			notify: func(ctx context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
				late := time.NewTimer(patience / 2)
				if n.Method == "slow" {
					late.Reset(3 * patience)
				}
				<-late.C
				heard.Add(1)
			},
			handle: func(context.Context, jsonrpc.Peer, *jsonrpc.Request) (*jsonrpc.Response, error) {
				return done(fmt.Sprint(heard.Load()))
			},
		}})
		for i, tt := range []struct {
			method, want string
			wait         time.Duration
		}{{"fast", "1", patience / 2}, {"slow", "1", patience}, {"slow", "1", 0}} {
			start := time.Now()
			send(t, s, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, tt.method), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"work"}`, i))
			expect(t, s, fmt.Sprintf(`{"jsonrpc":"2.0","result":%s,"id":%d}`, tt.want, i))
			if took := time.Since(start); took != tt.wait {
				t.Errorf("the request after %s took %v, not %v", tt.method, took, tt.wait)
			}
		}
	})
}
