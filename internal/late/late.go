// Package late has contexts that come into being when somebody waits for them.
//
// Hardly any request is cancelled and most only wait for one call. Making a
// context that can be waited for, and one more for that call, costs more than
// all else that is done for a small request.
package late

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// An Ender has calls that can be ended by their number.
type Ender interface {
	// EndCall ends a call, unless that has ended already, because the context
	// that it waits for has. It must not wait.
	EndCall(id uint64, cause error)
}

// A Context is that of one request. It becomes a context that can be waited
// for when somebody asks for that; the one call that the request waits for is
// ended without one.
//
// The end of its parent is seen and can be waited for, but it does not end that
// call: whoever ends the parent ends what runs in it too.
type Context struct {
	parent     context.Context
	key, value any

	mu    sync.Mutex
	real  context.Context // nil until it is needed
	end   context.CancelCauseFunc
	over  bool
	cause error
	// ender has the one call that waits.
	ender Ender
	call  uint64
}

// Init begins the context, before anybody else sees it. The parent must be one
// that can be cancelled, so that package context finds ours through it.
func (c *Context) Init(parent context.Context) { c.parent = parent }

// WithValue is context.WithValue. The first value of a Context that nobody else
// has seen yet costs nothing: it is kept in the Context itself.
func WithValue(ctx context.Context, key, value any) context.Context {
	if c, ok := ctx.(*Context); ok && c.key == nil {
		c.key, c.value = key, value
		return c
	}
	return context.WithValue(ctx, key, value)
}

func (c *Context) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real == nil {
		c.real, c.end = context.WithCancelCause(c.parent)
		if c.over {
			c.end(c.cause)
		}
	}
	return c.real
}

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} { return c.context().Done() }

// Value implements context.Context. Package context finds a context that can
// be waited for by asking for a value, and finds our parent's at least.
func (c *Context) Value(key any) any {
	if c.key != nil && c.key == key {
		return c.value
	}
	if c.parent.Value(key) == nil {
		return nil
	}
	return c.context().Value(key)
}

// Err implements context.Context.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return context.Canceled
	}
	return c.parent.Err()
}

// End ends the context and the call that waits.
func (c *Context) End(cause error) {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	c.over, c.cause = true, cause
	end, ender, call := c.end, c.ender, c.call
	c.mu.Unlock()
	if end != nil {
		end(cause)
	}
	if ender != nil {
		ender.EndCall(call, cmp.Or(cause, context.Canceled))
	}
}

// Await makes the end of the context that of a call, until Answered. It reports
// false when the context has ended, or when another call waits already.
func (c *Context) Await(e Ender, call uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.ender != nil || c.parent.Err() != nil {
		return false
	}
	c.ender, c.call = e, call
	return true
}

// Answered says that the call of Await no longer waits.
func (c *Context) Answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ender = nil
}
