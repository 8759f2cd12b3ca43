package mcphttp

import (
	"context"
	"runtime/debug"
	"slices"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/late"
	"mcp-all-in-one/internal/loop"
)

// Begin is Call for whoever does not wait: done hears the outcome, and the params
// stay what they are until then. It reports false, and nothing was sent, where
// that takes waiting or ctx is not that of a request of a peer.
func (c *Client) Begin(ctx context.Context, t *jsonrpc.Turn, req *jsonrpc.Request, done jsonrpc.Completion) bool {
	r, ok := ctx.(*late.Context)
	if !ok || c.short == nil {
		return false
	}
	f, err := c.join(ctx, true)
	if err != nil {
		return false
	}
	if b, ok := req.Back.(jsonrpc.Abortable); ok {
		b.Began(f.id)
	}
	if !r.Await(c, f.id) {
		c.leave(f)
		return false
	}
	f.tied, f.done, f.req = r, done, *req
	msg, body, used := (&exchange{c: c, f: f, req: &f.req, id: f.id}).compose()
	f.used = used
	if msg == nil || !f.post.Start(t.Of, c.short.to, msg, body, f) {
		c.leave(f)
		return false
	}
	return true
}

// Whole implements wire.Then.
func (f *flight) Whole(t *loop.Turn, b []byte, release func()) {
	x := exchange{c: f.c, f: f, req: &f.req, id: f.id}
	if id, result, ok := jsonrpc.PeekAnswer(b); ok && id == x.id && int64(len(b)) <= x.c.opt.MaxMessage {
		x.settle(jsonrpc.TurnOf(t), jsonrpc.NewResponse(result, release), nil)
		return
	}
	go f.look(b, release)
}

// Event implements wire.Then.
func (f *flight) Event(b []byte) bool {
	data := onlyEvent(b)
	if data == nil || int64(len(data)) > f.c.opt.MaxMessage {
		return false
	}
	id, result, ok := jsonrpc.PeekAnswer(slices.Clip(data))
	f.found = result
	return ok && id == f.id
}

// Found implements wire.Then.
func (f *flight) Found(t *loop.Turn, release func()) {
	x := exchange{c: f.c, f: f, req: &f.req, id: f.id}
	x.settle(jsonrpc.TurnOf(t), jsonrpc.NewResponse(f.found, release), nil)
}

// look has a goroutine to itself, for an answer that is not the usual one.
func (f *flight) look(b []byte, release func()) {
	x := exchange{c: f.c, f: f, req: &f.req, id: f.id}
	x.settleWith(func() (*jsonrpc.Response, error) {
		if int64(len(b)) > x.c.opt.MaxMessage {
			release()
			return nil, jsonrpc.ErrTooLarge
		}
		return x.understand(b, release)
	})
}

// Rest implements wire.Then.
func (f *flight) Rest() {
	x := exchange{c: f.c, f: f, req: &f.req, id: f.id}
	x.settleWith(func() (*jsonrpc.Response, error) {
		length, other, err := f.post.Receive(f)
		return x.received(length, other, err, f.used)
	})
}

// settleWith tells the outcome of a call that takes a while to understand.
func (x *exchange) settleWith(outcome func() (*jsonrpc.Response, error)) {
	resp, err := func() (resp *jsonrpc.Response, err error) {
		defer func() {
			if v := recover(); v != nil {
				x.c.opt.Log.Error("panic while reading an answer", "err", v, "stack", string(debug.Stack()))
				resp, err = nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "internal error")
			}
		}()
		return outcome()
	}()
	x.settle(nil, resp, err)
}

// settle ends a call that Begin began.
func (x *exchange) settle(t *jsonrpc.Turn, resp *jsonrpc.Response, err error) {
	ctx, done, method := x.f.ctx, x.f.done, x.f.req.Method
	resp, err = x.c.outcome(ctx, x, method, resp, err)
	done.Complete(t, resp, err)
}
