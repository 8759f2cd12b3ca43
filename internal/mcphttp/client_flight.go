package mcphttp

import (
	"context"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/late"
	"mcp-all-in-one/internal/wire"
)

// A flight is one piece of work that Close must end: a call, a stream, a
// handler.
type flight struct {
	c    *Client
	ctx  context.Context // the caller's
	id   uint64          // of a call; 0 for other work
	post wire.Post

	// The caller's context ends the work through one of these.
	tied *late.Context
	stop func() bool

	// What follows is guarded by Client.mu.
	prev, next *flight
	over       bool  // it is no longer among the flights
	cause      error // why it was ended
	inner      context.Context
	cancel     context.CancelCauseFunc
}

// maxIdleFlights is how many flights are kept for the next calls.
const maxIdleFlights = 64

// begin counts a call in.
func (c *Client) begin(ctx context.Context) (*flight, error) {
	f, err := c.join(ctx, true)
	if err != nil {
		return nil, err
	}
	if r, ok := ctx.(*late.Context); ok && r.Await(c, f.id) {
		f.tied = r
	} else if id := f.id; ctx.Done() != nil {
		f.stop = context.AfterFunc(ctx, func() { c.EndCall(id, context.Cause(ctx)) })
	}
	return f, nil
}

// enter counts another piece of work in. Its context ends with ctx and with
// Close; after flight.untie it ends with Close alone.
func (c *Client) enter(ctx context.Context) (context.Context, *flight, error) {
	f, err := c.join(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	f.stop = context.AfterFunc(ctx, func() { c.end(f, context.Cause(ctx)) })
	return f.Context(), f, nil
}

func (c *Client) join(ctx context.Context, call bool) (*flight, error) {
	if c.bad != nil {
		return nil, c.bad
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, jsonrpc.ErrClosed
	}
	f := c.newFlightLocked(call)
	f.ctx = ctx
	f.next = c.first
	if c.first != nil {
		c.first.prev = f
	}
	c.first = f
	return f, nil
}

// newFlightLocked returns a flight of an earlier call where there is one. Other
// work is known by its flight, which therefore is not used again.
func (c *Client) newFlightLocked(call bool) *flight {
	if !call {
		return &flight{c: c}
	}
	var f *flight
	if n := len(c.idle); n > 0 {
		f, c.idle = c.idle[n-1], c.idle[:n-1]
		f.post.Reset()
	} else {
		f = &flight{c: c}
	}
	c.ids++
	f.id, f.over = c.ids, false
	return f
}

// Context is that of the work. A call has none before somebody needs it.
func (f *flight) Context() context.Context {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	if f.inner == nil {
		f.inner, f.cancel = context.WithCancelCause(context.WithoutCancel(f.ctx))
		if f.cause != nil {
			f.cancel(f.cause)
		}
	}
	return f.inner
}

// untie keeps the end of the caller's context from the work.
func (f *flight) untie() {
	if f.tied != nil {
		f.tied.Answered()
	}
	if f.stop != nil {
		f.stop()
	}
	f.tied, f.stop = nil, nil
}

// leave counts a piece of work out and returns why it was ended, nil when it
// was not.
func (c *Client) leave(f *flight) error {
	f.untie()
	if f.cancel != nil {
		f.cancel(nil)
	}
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
	cause, call := f.cause, f.id != 0
	f.over, f.id, f.ctx, f.prev, f.next, f.cause, f.inner, f.cancel = true, 0, nil, nil, nil, nil, nil, nil
	if call && len(c.idle) < maxIdleFlights {
		c.idle = append(c.idle, f)
	}
	return cause
}

// end ends a piece of work.
func (c *Client) end(f *flight, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.endLocked(cause)
}

func (f *flight) endLocked(cause error) {
	if f.over || f.cause != nil {
		return
	}
	f.cause = cause
	if f.cancel != nil {
		f.cancel(cause)
	}
	f.post.End()
}

// EndCall implements late.Ender.
func (c *Client) EndCall(id uint64, cause error) {
	if id == 0 { // a call that has not begun; other work has that number
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := c.first; f != nil; f = f.next { // nearly all calls end by themselves
		if f.id == id {
			f.endLocked(cause)
			return
		}
	}
}

// Abort ends a call with an error and tells the server, unless its outcome is
// known already.
func (c *Client) Abort(id uint64, err error) { c.EndCall(id, err) }

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
