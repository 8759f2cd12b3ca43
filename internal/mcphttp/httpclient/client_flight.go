package httpclient

import (
	"context"
	"io"
	"sync"
	"time"

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

	prev, next *flight // guarded by flights.mu
}

// flights are those in the air. What begins after close is refused.
type flights struct {
	bad error // why none can begin: the URL cannot be used

	mu     sync.Mutex
	closed bool
	first  *flight // the newest
	work   sync.WaitGroup
}

// enter counts a piece of work in. Its context ends with ctx and with Close;
// after untie it ends with Close alone.
func (all *flights) enter(ctx context.Context, id uint64) (*flight, error) {
	if all.bad != nil {
		return nil, all.bad
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f := &flight{id: id}
	f.ctx, f.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.closed {
		f.cancel(nil)
		return nil, jsonrpc.ErrClosed
	}
	f.next = all.first
	if all.first != nil {
		all.first.prev = f
	}
	all.first = f
	f.untie = context.AfterFunc(ctx, func() { f.cancel(context.Cause(ctx)) })
	return f, nil
}

// leave counts a piece of work out and returns why it was ended, nil when it
// was not.
func (all *flights) leave(f *flight) error {
	f.untie()
	cause := context.Cause(f.ctx)
	f.cancel(nil)
	all.mu.Lock()
	defer all.mu.Unlock()
	if f.prev != nil {
		f.prev.next = f.next
	} else {
		all.first = f.next
	}
	if f.next != nil {
		f.next.prev = f.prev
	}
	return cause
}

// abort ends a call with an error, unless its outcome is known already.
func (all *flights) abort(id uint64, err error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for f := all.first; f != nil; f = f.next { // nearly all calls end by themselves
		if f.id == id && id != 0 {
			f.cancel(err)
		}
	}
}

// spawn runs fn in a goroutine that Close ends and waits for. It reports false
// when the client is closed.
func (all *flights) spawn(ctx context.Context, fn func(context.Context)) bool {
	f, err := all.enter(ctx, 0)
	if err != nil {
		return false
	}
	if !all.track(func() { defer all.leave(f); fn(f.ctx) }) {
		all.leave(f)
		return false
	}
	return true
}

// track runs fn in a goroutine that Close waits for.
func (all *flights) track(fn func()) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.closed {
		return false
	}
	all.work.Go(fn)
	return true
}

// runOut is how long a stream that has given its answer may take to end, so
// that its connection can be used again.
const runOut = time.Second

// finish ends a call and returns why it was ended, if so. A stream that has
// given its answer is read to its end by a goroutine: cutting it off would cost
// the connection.
func (all *flights) finish(f *flight, rest io.ReadCloser) error {
	if rest == nil {
		return all.leave(f)
	}
	f.untie()
	drain := func() {
		defer all.leave(f)
		late := time.AfterFunc(runOut, func() { f.cancel(nil) })
		defer late.Stop()
		_, _ = io.CopyN(io.Discard, rest, maxDiscard)
		rest.Close()
	}
	if !all.track(drain) {
		rest.Close()
		return all.leave(f)
	}
	return nil
}

// close ends every flight with jsonrpc.ErrClosed and waits for what track runs;
// false when it was closed before.
func (all *flights) close() bool {
	all.mu.Lock()
	first := !all.closed
	all.closed = true
	for f := all.first; f != nil; f = f.next {
		f.cancel(jsonrpc.ErrClosed)
	}
	all.mu.Unlock()
	all.work.Wait()
	return first
}
