// Package jsonrpc carries JSON-RPC 2.0 messages as bytes.
//
// It owns the envelope: scanning, splicing, ids, the interfaces Peer and
// Handler, and a connection over any message stream. It does not interpret
// methods; params and results are raw JSON that it never decodes.
package jsonrpc

import (
	"context"
	"encoding/json"
	"fmt"

	"mcp-all-in-one/internal/i18n"
)

// A Peer is the other side of a connection, which can be called.
//
// Both methods may be called concurrently.
type Peer interface {
	// Call sends a request and waits for its outcome. A non-nil error means
	// that there is no answer (the connection closed, or ctx ended); an error
	// that the other side answered is in Response.Err.
	Call(ctx context.Context, req *Request) (*Response, error)
	// Notify sends a notification; nil means that the transport accepted it,
	// not that it arrived.
	Notify(ctx context.Context, n *Notification) error
}

// A Handler answers the requests of a peer.
//
// Both methods may be called concurrently; notifications of one connection
// are delivered in order.
type Handler interface {
	// Handle answers one request. from calls back to the client while the
	// request runs: its messages travel on the stream of this request. ctx ends
	// when the client cancels the request.
	Handle(ctx context.Context, from Peer, req *Request) (*Response, error)
	// HandleNotification handles one notification.
	HandleNotification(ctx context.Context, from Peer, n *Notification)
}

// A Request is one request. It has no id: each transport allocates its own ids,
// and they never cross a hop.
type Request struct {
	Method string
	// Params is the raw JSON of params; nil when absent. It is valid until
	// Handle returns.
	Params []byte
	// Back handles the requests and notifications that the callee sends because
	// of this call while it runs. Only transports that can attribute them to a
	// call use it; nil means that they are not handled.
	Back Handler
	// ID is the client's id of the request, as raw JSON, for records alone; nil
	// if it is not known. It is valid until Handle returns.
	ID []byte
	// Trip, if set, records how long the transport took to carry the call.
	Trip *Trip
}

// A Notification is a message that has no answer.
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

// NewResponse returns a response whose Result is in a borrowed buffer. release
// returns the buffer and is called at most once.
func NewResponse(result []byte, release func()) *Response {
	return &Response{Result: result, release: release}
}

// Owned reports whether Result may be edited in place: its buffer is used by
// this response alone.
func (r *Response) Owned() bool { return r.release != nil }

// Release returns the buffer behind Result to its owner. Result must not be
// used afterwards. A missing Release costs garbage, never correctness.
func (r *Response) Release() {
	if r == nil || r.release == nil {
		return
	}
	f := r.release
	r.release = nil
	f()
}

// An Error is the error member of a response.
type Error struct {
	Code    int64
	Message string
	// Data is raw JSON; nil when absent.
	Data json.RawMessage
	// Raw is the error object as the other side sent it; if set, it is relayed
	// unchanged.
	Raw json.RawMessage
	// Limit names the field of ScanLimits that was exceeded, for metrics; it is
	// not sent.
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

// InvalidParams returns the error for invalid params of a request.
func InvalidParams(format string, args ...any) *Error {
	return Errorf(CodeInvalidParams, "Invalid params: "+format, args...)
}

// MethodNotFound returns the error for an unknown method, with a reason. It
// echoes at most 256 bytes of the method.
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

// In returns the error in the given language; the message is the other side's
// own.
func (e *Error) In(l i18n.Lang) string {
	return i18n.New("%s (code %d)", "%s（错误码 %d）", e.Message, e.Code).In(l)
}

// Errors of a call or a request that ends without an answer.
var (
	// ErrClosed means that the connection ended.
	ErrClosed = i18n.Errorf("connection closed", "连接已关闭")
	// ErrCancelled is the cause of a handler's context when the peer
	// cancelled the request.
	ErrCancelled = i18n.Errorf("cancelled by the peer", "已由对方取消")
	// ErrTooLarge means that the answer was over the limit of the stream.
	ErrTooLarge = i18n.Errorf("answer too large", "应答过大")
	// ErrBadAnswer means that the answer could not be parsed.
	ErrBadAnswer = i18n.Errorf("answer not understood", "无法理解应答")
)

// A Stream carries whole messages in both directions.
type Stream interface {
	// Read returns the next message. The buffer belongs to the caller until
	// it calls release; release may be nil. Read is called by one goroutine.
	// An error of type *FrameError leaves the stream usable.
	Read() (msg []byte, release func(), err error)
	// Write sends the concatenation of parts as one message. It may be called
	// concurrently and does not use parts after it returns.
	Write(parts ...[]byte) error
	// Close ends both directions and makes Read return. It is idempotent.
	Close() error
}

// A FrameError reports one message that could not be read, such as a line over
// the limit. The stream remains usable.
type FrameError struct {
	// Size is how many bytes were skipped.
	Size int64
	// Head is the beginning of the skipped message, used to find its id.
	Head []byte
	// Reason is why the message was skipped.
	Reason i18n.Text
}

func (e *FrameError) Error() string { return e.In(i18n.English) }

// In returns the error in the given language.
func (e *FrameError) In(l i18n.Lang) string {
	return i18n.New("%v (%d bytes)", "%v（%d 字节）", e.Reason, e.Size).In(l)
}
