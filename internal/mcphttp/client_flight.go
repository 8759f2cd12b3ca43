package mcphttp

import (
	"context"

	"mcp-all-in-one/internal/jsonrpc"
)

// A flight is one piece of work that Close must end: a call, a stream, a
// handler.
type flight struct {
	cancel context.CancelCauseFunc
	stop   func() bool // it no longer ends with the caller's context
}

// enter counts a piece of work in. Its context ends with ctx and with Close;
// after flight.stop it ends with Close alone.
func (c *Client) enter(ctx context.Context) (context.Context, *flight, error) {
	if c.bad != nil {
		return nil, nil, c.bad
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	f := &flight{}
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	f.cancel = cancel
	f.stop = context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.flights[f] = struct{}{}
	}
	c.mu.Unlock()
	if closed {
		f.stop()
		cancel(nil)
		return nil, nil, jsonrpc.ErrClosed
	}
	return inner, f, nil
}

func (c *Client) leave(f *flight) {
	f.stop()
	f.cancel(nil)
	c.mu.Lock()
	delete(c.flights, f)
	c.mu.Unlock()
}

// spawn runs fn in a goroutine that Close ends and waits for. It reports false
// when the client is closed.
func (c *Client) spawn(ctx context.Context, fn func(context.Context)) bool {
	inner, f, err := c.enter(ctx)
	if err != nil {
		return false
	}
	if !c.track(func() { defer c.leave(f); fn(inner) }) {
		c.leave(f)
		return false
	}
	return true
}

// track runs fn in a goroutine that Close waits for.
func (c *Client) track(fn func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Go(fn)
	return true
}
