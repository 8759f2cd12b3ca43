package httpclient

import (
	"context"

	"mcp-all-in-one/internal/jsonrpc"
)

// A flight is one piece of work that Close must end: a call, a stream, a
// handler.
type flight struct {
	id     uint64 // of a call; 0 for other work
	ctx    context.Context
	cancel context.CancelCauseFunc
	// untie keeps the end of the caller's context from the work.
	untie func() bool

	prev, next *flight // guarded by Client.mu
}

// enter counts a piece of work in. Its context ends with ctx and with Close;
// after untie it ends with Close alone.
func (c *Client) enter(ctx context.Context, id uint64) (*flight, error) {
	if c.bad != nil {
		return nil, c.bad
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f := &flight{id: id}
	f.ctx, f.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		f.cancel(nil)
		return nil, jsonrpc.ErrClosed
	}
	f.next = c.first
	if c.first != nil {
		c.first.prev = f
	}
	c.first = f
	f.untie = context.AfterFunc(ctx, func() { f.cancel(context.Cause(ctx)) })
	return f, nil
}

// leave counts a piece of work out and returns why it was ended, nil when it
// was not.
func (c *Client) leave(f *flight) error {
	f.untie()
	cause := context.Cause(f.ctx)
	f.cancel(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.prev != nil {
		f.prev.next = f.next
	} else {
		c.first = f.next
	}
	if f.next != nil {
		f.next.prev = f.prev
	}
	return cause
}

// Abort ends a call with an error and tells the server, unless its outcome is
// known already.
func (c *Client) Abort(id uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := c.first; f != nil; f = f.next { // nearly all calls end by themselves
		if f.id == id && id != 0 {
			f.cancel(err)
		}
	}
}

// spawn runs fn in a goroutine that Close ends and waits for. It reports false
// when the client is closed.
func (c *Client) spawn(ctx context.Context, fn func(context.Context)) bool {
	f, err := c.enter(ctx, 0)
	if err != nil {
		return false
	}
	if !c.track(func() { defer c.leave(f); fn(f.ctx) }) {
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
