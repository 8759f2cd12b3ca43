// Package duplex speaks JSON-RPC over a Stream in both directions: calls of ours,
// requests and notifications of the peer, in order and within limits.
package duplex

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/jsonrpc"
)

// ConnOptions says how a Conn behaves.
type ConnOptions struct {
	// Handler answers the requests of the peer; nil refuses all of them.
	Handler jsonrpc.Handler
	// Strict is for the accepting side: messages are scanned strictly,
	// malformed messages are answered with an error, an id in flight may not be
	// reused, and a request waits for a limited time until earlier
	// notifications are delivered.
	Strict bool
	// Batch reports whether a batch is accepted now; nil means never.
	Batch func() bool
	// MaxInFlight limits the concurrent requests of the peer. At the limit the
	// Conn stops reading, unless it waits for answers itself. Zero means 64.
	MaxInFlight int
	// CancelMethod is the notification that cancels a request. It is sent
	// when the context of a Call ends; when it is received, the context of
	// that handler ends with the cause ErrCancelled and no answer is sent.
	CancelMethod string
	// Uncancellable is the method that opens a conversation. It is answered
	// before later messages are read, unless its handler calls the peer. It is
	// never cancelled and not allowed in a batch.
	Uncancellable string
	// OnEnd is called when the stream has ended, before the Conn waits for the
	// requests in flight. It may be nil.
	OnEnd func()
	// OnDropped is called for discarded messages and for panics. It may be nil
	// and must not block; head is valid during the call only.
	OnDropped func(reason string, head []byte)
	// OnLate is called with the id of a call that was given up when the peer
	// answers it nevertheless. It may be nil and must not block.
	OnLate func(id uint64)
	// Tags, if set, mark which client or request each message belongs to. Both
	// sides must set them.
	Tags *Tags
	// Limits limits each message.
	Limits jsonrpc.ScanLimits
}

// A Conn speaks JSON-RPC over a Stream, both as caller and as callee.
type Conn struct {
	stream jsonrpc.Stream
	opt    ConnOptions
	ctx    context.Context // of handlers; ends with Close
	cancel context.CancelCauseFunc

	calls    calls
	requests requests
	notices  notices

	running sync.WaitGroup // handlers and the goroutine of notices
	workers sync.WaitGroup // the goroutines that run handlers
	sending sync.WaitGroup // the goroutines that send cancel notifications
	closing atomic.Bool
	// draining, set by Drain, is the error with which new requests are refused.
	draining atomic.Pointer[jsonrpc.Error]
	done     chan struct{}

	mu    sync.Mutex
	ended bool // no new messages of our own are sent
	err   error
}

// NewConn starts reading from s and takes ownership of it.
func NewConn(s jsonrpc.Stream, opt ConnOptions) *Conn {
	if opt.MaxInFlight <= 0 {
		opt.MaxInFlight = 64
	}
	c := &Conn{stream: s, opt: opt, done: make(chan struct{})}
	// A connection outlives the function that accepted it, so only Close ends
	// the context.
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.requests.init()
	c.notices.opt, c.notices.ctx, c.notices.from, c.notices.running = &c.opt, c.ctx, c, &c.running
	go c.run()
	return c
}

// run reads until the stream ends, then waits for the requests in flight.
func (c *Conn) run() {
	err := c.read()
	if c.opt.OnEnd != nil {
		c.opt.OnEnd()
	}
	c.calls.fail(jsonrpc.ErrClosed)
	c.running.Wait()
	c.requests.dismiss()
	c.workers.Wait()
	c.mu.Lock()
	switch {
	case c.err != nil:
	case c.closing.Load():
		c.err = jsonrpc.ErrClosed
	case !errors.Is(err, io.EOF):
		c.err = err
	}
	c.ended = true
	c.mu.Unlock()
	c.sending.Wait()
	c.cancel(jsonrpc.ErrClosed)
	close(c.done)
}

// Close closes the stream, fails pending calls with ErrClosed, cancels the
// handlers and waits for them. A handler must not call Close.
func (c *Conn) Close() error {
	c.closing.Store(true)
	c.calls.fail(jsonrpc.ErrClosed)
	c.cancel(jsonrpc.ErrClosed)
	c.requests.close()
	err := c.stream.Close()
	<-c.done
	return err
}

// Done returns a channel that is closed after the reader has ended and all
// handlers have answered: requests in flight still finish after the end of the
// stream.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why the connection ended: nil while it is open and after a clean
// end of the stream, ErrClosed after Close.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Notify sends a notification.
func (c *Conn) Notify(ctx context.Context, n *jsonrpc.Notification) error {
	return tell(ctx, c, n, nil)
}

// tell sends a notification. in is the request of the peer on whose behalf it
// is sent; nil for none.
func tell(ctx context.Context, c *Conn, n *jsonrpc.Notification, in *inbound) error {
	if c.closing.Load() {
		return jsonrpc.ErrClosed
	}
	o := newOutgoing()
	defer o.free()
	o.head = c.opt.Tags.append(o.head, ctx, in)
	o.head = append(o.head, `{"jsonrpc":"2.0",`...)
	o.call(n.Method, n.Params)
	return c.stream.Write(o.around(n.Params)...)
}

// abort ends a connection after a write has failed.
func (c *Conn) abort(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	c.mu.Unlock()
	c.stream.Close()
}

// dropped reports a discarded message.
func (o *ConnOptions) dropped(reason string, msg []byte) {
	if o.OnDropped != nil {
		o.OnDropped(reason, msg[:min(len(msg), 256)])
	}
}
