package duplex

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestConnCancelSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost drops
		late := make(chan uint64, 1)
		s, c := raw(t, ConnOptions{OnDropped: lost.add, OnLate: func(id uint64) { late <- id }})
		ctx, cancel := context.WithCancelCause(t.Context())
		result := make(chan error)
		go func() {
			_, err := c.Call(ctx, &jsonrpc.Request{Method: "slow"})
			result <- err
		}()
		expect(t, s, `{"jsonrpc":"2.0","id":1,"method":"slow"}`)
		cancel(errors.New("the user left"))
		err := <-result
		if !errors.Is(err, context.Canceled) || err.Error() != "context canceled: the user left" {
			t.Errorf("got %v", err)
		}
		expect(t, s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"the user left"}}`)
		send(t, s, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		synctest.Wait()
		if lost.String() != "late answer" {
			t.Errorf("dropped %s", &lost)
		}
		if id := <-late; id != 1 {
			t.Errorf("late answer to %d", id)
		}
		go func() {
			_, err := c.Call(t.Context(), &jsonrpc.Request{Method: "next"})
			result <- err
		}()
		expect(t, s, `{"jsonrpc":"2.0","id":2,"method":"next"}`)
		send(t, s, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		if err := <-result; err != nil {
			t.Error(err)
		}
		if _, err := c.Call(ctx, &jsonrpc.Request{Method: "never"}); !errors.Is(err, context.Canceled) {
			t.Errorf("calling with a context that ended: %v", err)
		}
	})
}

// TestConnCancelUncancellable gives up a call that must not be cancelled.
func TestConnCancelUncancellable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := raw(t, ConnOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			next(t, s)
			cancel()
		}()
		if _, err := c.Call(ctx, &jsonrpc.Request{Method: "initialize"}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		must.OK(t, c.Notify(t.Context(), &jsonrpc.Notification{Method: "first"}))
		expect(t, s, `{"jsonrpc":"2.0","method":"first"}`)
	})
}

func TestConnCancelReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		causes := make(chan error, 3)
		s, _ := raw(t, ConnOptions{Strict: true, Handler: funcs{handle: func(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
			switch req.Method {
			case "ping":
				return done(`{}`)
			case "initialize":
				go from.Call(t.Context(), &jsonrpc.Request{Method: "question"})
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return done(`{"too":"late"}`)
		}}})
		send(t, s,
			`{"jsonrpc":"2.0","id":1,"method":"slow"}`,
			`{"jsonrpc":"2.0","id":"1","method":"slow"}`,
			`{"jsonrpc":"2.0","id":2,"method":"initialize"}`,
		)
		synctest.Wait() // a request that is cancelled before it runs never runs
		send(t, s,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}`,
		)
		expect(t, s, `{"jsonrpc":"2.0","id":1,"method":"question"}`)
		if err := <-causes; !errors.Is(err, jsonrpc.ErrCancelled) {
			t.Errorf("cause is %v", err)
		}
		synctest.Wait()
		if len(causes) != 0 {
			t.Error("more than one request was cancelled")
		}
		// The cancelled request is not answered, and its id is free again.
		send(t, s, `{"jsonrpc":"2.0","id":"1","method":"ping"}`)
		expect(t, s, `{"jsonrpc":"2.0","result":{},"id":"1"}`)
	})
}

// TestConnCancelAcross cancels through two consecutive connections.
func TestConnCancelAcross(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reached := make(chan error, 1)
		inner, _ := pair(t, nil, funcs{handle: func(ctx context.Context, _ jsonrpc.Peer, _ *jsonrpc.Request) (*jsonrpc.Response, error) {
			<-ctx.Done()
			reached <- context.Cause(ctx)
			return nil, ctx.Err()
		}})
		outer, _ := pair(t, nil, funcs{handle: func(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
			return inner.Call(ctx, req)
		}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		if _, err := outer.Call(ctx, &jsonrpc.Request{Method: "slow"}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if err := <-reached; !errors.Is(err, jsonrpc.ErrCancelled) {
			t.Errorf("cause is %v", err)
		}
	})
}
