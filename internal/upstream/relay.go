package upstream

import (
	"context"
	"runtime/debug"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Pipe is a connection on which a call is no more than passing bytes on.
type Pipe = link

// A beginner is a connection that calls can be begun on.
type beginner interface {
	aborter
	Begin(ctx context.Context, t *jsonrpc.Turn, req *jsonrpc.Request, done jsonrpc.Completion) bool
}

// Begin is Call, for whoever wants no progress and does not wait: done hears the
// outcome. It reports false, and has done nothing, when it would
// have to wait for a place or for room in the pipe.
func (l *link) Begin(ctx context.Context, t *jsonrpc.Turn, c *Caller, req *jsonrpc.Request, done jsonrpc.Completion) bool {
	u := l.up
	select {
	case u.places <- struct{}{}:
		u.running.Add(1)
	default:
		return false
	}
	conn := l.peer.(beginner)
	k := l.enterPlain(conn, c, req, int64(t.Now().Sub(begun)))
	k.ctx, k.done = ctx, done
	params := req.Params
	if len(k.sent.Params) > 0 {
		params = k.sent.Params
	}
	switch {
	case l.era == c.Era:
	case l.era == mcp.Modern:
		params = l.withMeta(params, c)
	default:
		params = withoutMeta(params)
	}
	if conn.Begin(ctx, t, &jsonrpc.Request{Method: req.Method, Params: params, Back: k}, k) {
		return true
	}
	l.end(k)
	u.leave()
	return false
}

// maxSpare is how many calls are kept for the next ones, maxKept how much memory
// for params each of them has.
const (
	maxSpare = 64
	maxKept  = 4 << 10
)

// enterPlain enters a call that Begin makes.
func (l *link) enterPlain(conn beginner, c *Caller, req *jsonrpc.Request, now int64) *call {
	idle := l.up.idleFor(req)
	l.mu.Lock()
	defer l.mu.Unlock()
	var k *call
	if n := len(l.spare); n > 0 {
		k, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		k = new(call)
	}
	kept := k.sent.Params[:0]
	*k = call{link: l, caller: c, back: req.Back, conn: conn, started: now, idle: idle}
	if k.sent = (jsonrpc.Request{Method: req.Method, Params: kept}); l.child == nil || l.era == mcp.Modern {
		k.sent.Params = append(kept, req.Params...) // it may have to be sent once more
	}
	k.active.Store(now)
	l.enterLocked(k)
	return k
}

// endPlain ends a call that was answered, and keeps its memory for the next one
// unless somebody else may know of it.
func (l *link) endPlain(k *call) (known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked(k)
	if !k.known && len(l.spare) < maxSpare {
		k.caller, k.back, k.ctx, k.done = nil, nil, nil, nil
		if cap(k.sent.Params) > maxKept {
			k.sent.Params = nil
		}
		l.spare = append(l.spare, k)
	}
	return k.known
}

// PipeFor is the connection that c uses now, nil when it has none that calls can
// be begun on.
func (u *Upstream) PipeFor(c *Caller) *Pipe {
	s := u.slotNow(c)
	if s == nil {
		return nil
	}
	l := s.current()
	if l == nil || !l.passesOn(c) {
		return nil
	}
	if _, ok := l.peer.(beginner); !ok {
		return nil
	}
	return l
}

// slotNow is the slot that acquire would use, nil where that is not known without
// waiting, or where each call has one of its own.
func (u *Upstream) slotNow(c *Caller) *slot {
	if c.Era == mcp.Modern && u.mayHaveBoth() {
		switch u.opt.Memory.eras(u.hash) {
		case erasUnknown:
			return nil
		case erasBoth:
			return u.slotFor(binding{pool: "modern", key: "modern" + u.userOf(c)})
		}
	}
	b := c.binding(u)
	if b == (binding{}) {
		return u.primary
	}
	if l := u.primary.link.Load(); l != nil && l.era == mcp.Modern {
		return u.primary
	}
	if b.pool != "" && !b.together {
		return nil
	}
	return u.slotFor(b)
}

// passesOn says that a call of c is no more than passing it on. A legacy server
// may ask a modern client, which has to be told to come back then, or has to be
// told first what the client wants to hear.
func (l *link) passesOn(c *Caller) bool {
	return l.era == c.Era || l.era == mcp.Modern || c.Offer.Empty() && (c.LogLevel == "" || !l.has("logging"))
}

// Complete hears the outcome of a call that nobody waits for.
func (k *call) Complete(t *jsonrpc.Turn, resp *jsonrpc.Response, err error) {
	if t != nil && (err != nil || k.refused(resp) || k.asks(resp)) {
		go k.Complete(nil, resp, err) // what it means takes a while to find out
		return
	}
	l, u, done := k.link, k.link.up, k.done
	if t != nil {
		known := l.endPlain(k)
		u.leave()
		if known { // a turn would say that it is not
			go done.Complete(nil, resp, nil)
			return
		}
		done.Complete(t, resp, nil)
		return
	}
	if k.refused(resp) || err == nil && k.asks(resp) {
		resp, err = k.goOn(resp, err)
	}
	l.end(k)
	if err != nil || k.refused(resp) {
		resp, err = k.retried(resp, err)
	}
	u.leave()
	done.Complete(nil, resp, err)
}

// refused says that a modern server did not run the call.
func (k *call) refused(resp *jsonrpc.Response) bool {
	return k.link.era == mcp.Modern && resp != nil && resp.Err != nil &&
		(resp.Err.Code == mcp.CodeVersionUnsupported || resp.Err.Code == mcp.CodeHeaderMismatch)
}

// asks says that the answer to a legacy client is none yet.
func (k *call) asks(resp *jsonrpc.Response) bool {
	if k.link.era != mcp.Modern || k.caller.Era != mcp.Legacy || resp == nil || resp.Err != nil {
		return false
	}
	kind := jsonrpc.Get(resp.Result, "resultType")
	return kind != nil && string(kind) != `"complete"`
}

// goOn is what call does where the first answer is not the last one: the server is
// asked once more, or the client. From here on the call is more than one on the
// connection.
func (k *call) goOn(resp *jsonrpc.Response, err error) (_ *jsonrpc.Response, failed error) {
	l, params := k.link, k.sent.Params
	defer func() {
		if v := recover(); v != nil {
			l.up.log.Error("panic while asking a client", "panic", v, "stack", string(debug.Stack()))
			failed = jsonrpc.Errorf(jsonrpc.CodeInternal, "internal error")
		}
	}()
	ctx, cancel := context.WithCancelCause(k.ctx)
	l.mu.Lock()
	k.cancel = cancel
	l.mu.Unlock()
	if why := k.aborted.Load(); why != nil { // just before, when there was none
		cancel(*why)
	}
	if k.caller.Era == mcp.Legacy {
		params = l.withMeta(params, k.caller)
	}
	resp, err = l.answered(l.insisted(ctx, &jsonrpc.Request{Method: k.sent.Method, Params: params, Back: k}, resp, err))
	if err == nil && k.caller.Era == mcp.Legacy {
		resp, err = l.rounds(ctx, k, k.sent.Method, params, resp)
	}
	return resp, cause(ctx, err)
}

// retried is what Call makes of an outcome that is no answer.
func (k *call) retried(resp *jsonrpc.Response, err error) (*jsonrpc.Response, error) {
	l, u := k.link, k.link.up
	if l.child != nil && err != nil {
		return nil, u.failure(k.ctx, l, cause(k.ctx, err))
	}
	resp, err = l.answered(resp, err)
	err = cause(k.ctx, err)
	req := jsonrpc.Request{Method: k.sent.Method, Params: k.sent.Params, Back: k.back}
	return u.call(k.ctx, k.caller, &req, func() (*jsonrpc.Response, error, bool) { return u.verdict(k.ctx, l, resp, err) })
}
