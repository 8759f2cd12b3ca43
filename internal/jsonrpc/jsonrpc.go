// Package jsonrpc carries JSON-RPC 2.0 messages as bytes.
//
// It owns the envelope: scanning, splicing, ids, the two seams Peer and
// Handler, and a connection over any message stream. It refuses to know what
// a method means; params and results are raw JSON that it never decodes.
package jsonrpc

import (
	"context"
	"encoding/json"
	"fmt"

	"mcp-all-in-one/internal/i18n"
)

// A Peer is the other side of a connection, which can be asked.
//
// Both methods may be called concurrently.
type Peer interface {
	// Call sends a request and waits for its one outcome. A non-nil error
	// means that no answer came (the connection closed, ctx ended); an error
	// that the other side answered is Response.Err.
	Call(ctx context.Context, req *Request) (*Response, error)
	// Notify sends a notification; nil means that it was handed to the
	// transport, not that it arrived.
	Notify(ctx context.Context, n *Notification) error
}

// A Handler answers what a peer asks.
//
// Both methods may be called concurrently; notifications of one connection
// are delivered in order.
type Handler interface {
	// Handle answers one request. from is the way back to the client, for
	// as long as the request runs: what is sent through it travels on the
	// stream of this very request. ctx ends when the asker cancels.
	Handle(ctx context.Context, from Peer, req *Request) (*Response, error)
	// HandleNotification takes one notification.
	HandleNotification(ctx context.Context, from Peer, n *Notification)
}

// A Request is one question. Ids never cross a hop, so it has none to pass
// on: each transport allocates its own.
type Request struct {
	Method string
	// Params is the raw JSON of params; nil when absent. It is valid until
	// Handle returns.
	Params []byte
	// Back answers what the callee asks, and hears what it says, while and
	// because this call runs. Only transports that can tell use it; nil means
	// that nobody listens.
	Back Handler
	// Trip, if set, learns how long the transport took to carry the call.
	Trip *Trip
}

// A Notification is a message without an answer.
type Notification struct {
	Method string
	Params []byte
}

// A Response is the outcome of a request: exactly one of Result and Err is
// set.
type Response struct {
	// Result is the raw JSON of result.
	Result []byte
	// Err is the error that the other side answered.
	Err *Error

	release func()
}

// NewResponse is a response whose Result stands in a buffer that release
// gives back. Release is called at most once.
func NewResponse(result []byte, release func()) *Response {
	return &Response{Result: result, release: release}
}

// Owned says that Result may be edited where it stands: it is in a buffer that
// was lent for this response alone.
func (r *Response) Owned() bool { return r.release != nil }

// Release gives the buffer behind Result back to its owner. Result must
// not be used afterwards. Forgetting it costs garbage, never correctness.
func (r *Response) Release() {
	if r == nil || r.release == nil {
		return
	}
	f := r.release
	r.release = nil
	f()
}

// Lend returns what Release would call, for a caller that uses Result longer than the
// response: the response no longer gives its buffer back.
func (r *Response) Lend() (release func()) {
	release, r.release = r.release, nil
	if release == nil {
		release = func() {}
	}
	return release
}

// An Error is the error member of a response.
type Error struct {
	Code    int64
	Message string
	// Data is raw JSON; nil when absent.
	Data json.RawMessage
	// Raw is the error object as the other side sent it; when it is set it is
	// relayed as it is.
	Raw json.RawMessage
	// Limit names the bound of ScanLimits that was exceeded, for the counters;
	// it is not sent.
	Limit string
}

// Codes of JSON-RPC 2.0.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// Errorf makes an Error from a code and a formatted message.
func Errorf(code int64, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// InvalidParams says what is wrong with the params of a request.
func InvalidParams(format string, args ...any) *Error {
	return Errorf(CodeInvalidParams, "Invalid params: "+format, args...)
}

// MethodNotFound says that a method is not there, and why. It echoes no more
// than a line of it.
func MethodNotFound(method, reason string) *Error {
	if len(method) > 256 {
		method = method[:256]
	}
	return Errorf(CodeMethodNotFound, "Method '%s' not found", method).
		WithData(map[string]string{"method": method, "reason": reason})
}

// WithData returns e with data as its data member.
func (e *Error) WithData(data any) *Error {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("jsonrpc: data of an error cannot be encoded: %v", err))
	}
	e.Data = raw
	return e
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s (code %d)", e.Message, e.Code)
}

// In says it in a language; the message is the other side's own.
func (e *Error) In(l i18n.Lang) string {
	return i18n.New("%s (code %d)", "%s（错误码 %d）", e.Message, e.Code).In(l)
}

// A Stream carries whole messages in both directions.
type Stream interface {
	// Read returns the next message. The buffer belongs to the caller until
	// it calls release; release may be nil. Read is called by one goroutine.
	// An error of type *FrameError leaves the stream usable.
	Read() (msg []byte, release func(), err error)
	// Write sends the concatenation of parts as one message. It may be called
	// concurrently and has taken what it needs when it returns.
	Write(parts ...[]byte) error
	// Close ends both directions and makes Read return. It is idempotent.
	Close() error
}

// A FrameError is one message that could not be read from a stream that goes
// on: a line over the limit, for example.
type FrameError struct {
	// Size is how many bytes were skipped.
	Size int64
	// Head is the beginning of what was skipped, for finding its id.
	Head []byte
	// Reason says what was wrong with it.
	Reason i18n.Text
}

func (e *FrameError) Error() string { return e.In(i18n.English) }

// In says it in a language.
func (e *FrameError) In(l i18n.Lang) string {
	return i18n.New("%v (%d bytes)", "%v（%d 字节）", e.Reason, e.Size).In(l)
}
