package httpclient

import (
	"context"
	"io"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// A flight is one piece of work that Close must end: a call, a stream or a handler.
type flight struct {
	id     uint64 // id of a call; 0 for other work
	ctx    context.Context
	cancel context.CancelCauseFunc
	// untie detaches the work from the caller's context.
	untie func() bool

	prev, next *flight // guarded by flights.mu
}

// flights are the flights of a client. No flight can begin after close.
type flights struct {
	bad error // why no flight can begin: the URL is invalid

	mu     sync.Mutex
	closed bool
	first  *flight // the newest
	work   sync.WaitGroup
}

// enter begins a flight. Its context ends with ctx and with Close; after untie,
// only with Close.
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

// leave ends a flight and returns why it was cancelled, nil if it was not.
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

// abort ends a call with an error, unless the response has already arrived.
func (all *flights) abort(id uint64, err error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for f := all.first; f != nil; f = f.next { // a linear search is enough: few calls are aborted
		if f.id == id && id != 0 {
			f.cancel(err)
		}
	}
}

// spawn runs fn in a goroutine that Close cancels and waits for. It reports false
// if the client is closed.
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

// track runs fn in a goroutine that Close waits for. It reports false if the client
// is closed.
func (all *flights) track(fn func()) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.closed {
		return false
	}
	all.work.Go(fn)
	return true
}

// runOut is how long a stream may take to end after the response, so that its
// connection can be reused.
const runOut = time.Second

// finish ends a call and returns why it was cancelled, if it was. A goroutine reads
// the rest of the stream after the response: closing the stream early would close
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

// close cancels every flight with jsonrpc.ErrClosed and waits for the goroutines of
// track. It reports false if it was called before.
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
