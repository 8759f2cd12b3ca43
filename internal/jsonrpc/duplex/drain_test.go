package duplex

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

func TestConnDrain(t *testing.T) {
	last, cut := jsonrpc.Errorf(-32000, "shutting down"), jsonrpc.Errorf(-32001, "cut short")
	refused := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":-32000,"message":"shutting down"},"id":%d}`, id)
	}
	synctest.Test(t, func(t *testing.T) {
		s, c := raw(t, ConnOptions{Strict: true, Handler: funcs{handle: func(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
			wait := time.Minute
			if req.Method == "short" {
				wait = time.Second
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(wait):
			}
			return done(`{}`)
		}}})
		send(t, s, `{"jsonrpc":"2.0","id":1,"method":"short"}`, `{"jsonrpc":"2.0","id":2,"method":"long"}`)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		left := make(chan int)
		go func() { left <- c.Drain(ctx, last, cut) }()
		synctest.Wait()
		send(t, s, `{"jsonrpc":"2.0","id":3,"method":"short"}`)
		expect(t, s, refused(3))
		expect(t, s, `{"jsonrpc":"2.0","result":{},"id":1}`)
		expect(t, s, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"cut short"},"id":2}`)
		if n := <-left; n != 1 || time.Since(start) > 10*time.Second+2*drainCheck || time.Since(start) < 10*time.Second {
			t.Errorf("%d left after %v", n, time.Since(start))
		}
		if n := c.Drain(t.Context(), last, cut); n != 0 {
			t.Errorf("%d left in the end", n)
		}
	})
}
