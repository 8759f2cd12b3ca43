package duplex

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime/debug"
	"sync/atomic"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// An inbound is one request of the peer, and the Peer to call back while it
// runs.
type inbound struct {
	conn    *Conn
	req     jsonrpc.Request
	id      []byte
	hash    uint64
	next    *inbound // next request in the same bucket
	ctx     context.Context
	cancel  context.CancelCauseFunc
	release func()
	batch   *batch
	handler jsonrpc.Handler
	state   atomic.Uint32
	left    bool // has freed its place; see requests.leave
	idBytes [24]byte
}

// States of an inbound.
const (
	requestRuns = iota
	requestCancelled
	requestDone
)

// accept starts or queues a request of the peer.
func (c *Conn) accept(msg *jsonrpc.Message, tag []byte, release func(), b *batch) {
	if last := c.draining.Load(); last != nil {
		c.answer(msg.ID, &jsonrpc.Response{Err: last}, b)
		if b != nil {
			b.done()
		}
		free(release)
		return
	}
	in := &inbound{
		conn:    c,
		req:     jsonrpc.Request{Method: msg.Method, Params: msg.Params},
		hash:    maphash.Bytes(idSeed, msg.ID),
		release: release,
		batch:   b,
		handler: c.opt.Handler,
	}
	in.id = append(in.idBytes[:0], msg.ID...) // a copy: Drain may use it after the message is released
	// The context is not a child of the connection's context: all requests
	// would contend for that parent's lock. Closing the connection cancels each
	// request instead.
	in.ctx, in.cancel = context.WithCancelCause(context.Background())
	if tag != nil {
		in.ctx, in.handler = c.opt.Tags.whose(c, in.ctx, tag)
	}
	c.running.Add(1)
	admitted, w := c.requests.admit(in, &c.opt, c.calls.asking)
	switch admitted {
	case requestRefused:
		c.answer(in.id, &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "duplicate id")}, b)
		in.cancel(nil)
		in.discard()
		c.running.Done()
		return
	case requestQueued:
		return
	}
	c.start(in, w)
	if c.opt.Uncancellable != "" && in.req.Method == c.opt.Uncancellable {
		c.requests.await(in, c.calls.asking) // the next message may depend on this answer
	}
}

func (in *inbound) handle() (resp *jsonrpc.Response, err error) {
	c := in.conn
	if in.handler == nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method not found: %s", in.req.Method)
	}
	defer func() {
		if v := recover(); v != nil {
			c.opt.panicked(in.req.Method, v)
			resp, err = nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "internal error")
		}
	}()
	if c.opt.Strict {
		c.notices.awaitEarlier(0) // an earlier notification may affect this request
	}
	if in.ctx.Err() != nil {
		if last := c.draining.Load(); last != nil {
			return nil, last // it has not begun
		}
		return nil, in.ctx.Err()
	}
	resp, err = in.handler.Handle(in.ctx, in, &in.req)
	if err != nil && errors.Is(err, in.ctx.Err()) {
		err = context.Cause(in.ctx)
	}
	return resp, err
}

// finish sends the outcome unless the peer has cancelled the request. The id is
// freed before the answer is sent, because the peer may reuse it at once.
func (in *inbound) finish(resp *jsonrpc.Response, err error) {
	if in.end() {
		in.conn.answer(in.id, outcomeOf(resp, err), in.batch)
	}
	resp.Release()
	in.discard()
}

// end removes the request and reports whether the peer still expects an answer.
func (in *inbound) end() bool {
	wanted := in.state.CompareAndSwap(requestRuns, requestDone)
	if !wanted {
		in.state.Store(requestDone)
	}
	in.cancel(nil)
	in.conn.requests.remove(in)
	return wanted && !in.conn.closing.Load()
}

func (in *inbound) discard() {
	if in.batch != nil {
		in.batch.done()
	}
	free(in.release)
}

// outcomeOf returns the response for the results of a handler.
func outcomeOf(resp *jsonrpc.Response, err error) *jsonrpc.Response {
	if err != nil {
		var e *jsonrpc.Error
		if !errors.As(err, &e) {
			e = &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
		}
		return &jsonrpc.Response{Err: e}
	}
	if resp == nil || resp.Result == nil && resp.Err == nil {
		return &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeInternal, "internal error: no answer")}
	}
	return resp
}

// answer sends a response, or adds it to its batch.
func (c *Conn) answer(id []byte, resp *jsonrpc.Response, b *batch) {
	if b != nil {
		b.add(id, resp)
		return
	}
	o := newOutgoing()
	err := c.stream.Write(o.around(o.answer(id, resp))...)
	o.free()
	if err == nil {
		return
	}
	if errors.As(err, new(*jsonrpc.FrameError)) && resp.Err == nil {
		c.answer(id, &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeInternal, "sending the answer: %v", err)}, nil)
		return
	}
	c.opt.dropped("answer not sent", id)
	c.abort(i18n.Errorf("sending an answer: %w", "发送应答失败：%w", err))
}

func (in *inbound) cancelByPeer() {
	if in.state.CompareAndSwap(requestRuns, requestCancelled) {
		in.cancel(jsonrpc.ErrCancelled)
	}
}

// Call sends a request to the peer while the peer's own request runs.
func (in *inbound) Call(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if in.state.Load() == requestDone {
		return nil, jsonrpc.ErrClosed
	}
	return request(ctx, in.conn, req, in)
}

// Notify sends the peer a notification about its request. It does nothing once
// the request is answered.
func (in *inbound) Notify(ctx context.Context, n *jsonrpc.Notification) error {
	if in.state.Load() == requestDone {
		return nil
	}
	return tell(ctx, in.conn, n, in)
}

// RequestID returns the raw id of the request, for protocols whose messages
// refer to the request by id.
func (in *inbound) RequestID() []byte { return in.id }

// recovered is deferred around a notification handler.
func (o *ConnOptions) recovered(method string) {
	if v := recover(); v != nil {
		o.panicked(method, v)
	}
}

func (o *ConnOptions) panicked(method string, v any) {
	if o.OnDropped != nil {
		o.OnDropped("panic", fmt.Appendf(nil, "%s: %v\n%s", method, v, debug.Stack()))
	}
}
