package jsonrpc

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// A requestContext is the context of one request of the peer. Hardly any
// request is cancelled and most only wait for one call, so it becomes a
// context that can be waited for when somebody asks for that; a call that
// waits is ended without one.
type requestContext struct {
	parent context.Context

	mu    sync.Mutex
	real  context.Context // nil until it is needed
	end   context.CancelCauseFunc
	over  bool
	cause error
	// conn and call are the one call that waits.
	conn *Conn
	call uint64
}

func (r *requestContext) context() context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.real == nil {
		r.real, r.end = context.WithCancelCause(r.parent)
		if r.over {
			r.end(r.cause)
		}
	}
	return r.real
}

// Deadline implements context.Context.
func (r *requestContext) Deadline() (time.Time, bool) { return r.parent.Deadline() }

// Done implements context.Context.
func (r *requestContext) Done() <-chan struct{} { return r.context().Done() }

// Value implements context.Context. Package context finds a context that can
// be waited for by asking for a value, and finds our parent's at least.
func (r *requestContext) Value(key any) any {
	if r.parent.Value(key) == nil {
		return nil
	}
	return r.context().Value(key)
}

// Err implements context.Context.
func (r *requestContext) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return context.Canceled
	}
	return r.parent.Err()
}

// cancel ends the context and the call that waits.
func (r *requestContext) cancel(cause error) {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return
	}
	r.over, r.cause = true, cause
	end, conn, call := r.end, r.conn, r.call
	r.mu.Unlock()
	if end != nil {
		end(cause)
	}
	if conn != nil {
		conn.abandon(call, context.Canceled, cmp.Or(cause, context.Canceled))
	}
}

// await makes the end of the context that of a call. It reports false when the
// context has ended, or when another call waits already.
func (r *requestContext) await(c *Conn, call uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.conn != nil || r.parent.Err() != nil {
		return false
	}
	r.conn, r.call = c, call
	return true
}

func (r *requestContext) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conn = nil
}
