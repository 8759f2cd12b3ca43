package upstream

import (
	"context"

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

// Begin is Call, with params that have no _meta, for whoever does not wait:
// done hears the outcome. It reports false, and has done nothing, when it would
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
	if k.sent = (jsonrpc.Request{Method: req.Method, Params: kept}); l.child == nil {
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
// be begun on, or when the two eras differ.
func (u *Upstream) PipeFor(c *Caller) *Pipe {
	if c.Era != mcp.Legacy {
		return nil
	}
	b := c.binding(u)
	if b.pool != "" && !b.together {
		return nil // each call has a connection of its own
	}
	s := u.slotFor(b)
	if s == nil {
		return nil
	}
	l := s.current()
	if l == nil || l.era != mcp.Legacy {
		return nil
	}
	if _, ok := l.peer.(beginner); !ok {
		return nil
	}
	return l
}

// Complete hears the outcome of a call that nobody waits for.
func (k *call) Complete(t *jsonrpc.Turn, resp *jsonrpc.Response, err error) {
	if err != nil && t != nil {
		go k.Complete(nil, resp, err) // what went wrong takes a while to find out
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
	l.end(k)
	if err != nil {
		resp, err = k.retried(resp, err)
	}
	u.leave()
	done.Complete(nil, resp, err)
}

// retried is what Call makes of an outcome that is no answer.
func (k *call) retried(resp *jsonrpc.Response, err error) (*jsonrpc.Response, error) {
	l, u := k.link, k.link.up
	if l.child != nil {
		return nil, u.failure(k.ctx, l, cause(k.ctx, err))
	}
	resp, err = l.answered(resp, err)
	err = cause(k.ctx, err)
	req := jsonrpc.Request{Method: k.sent.Method, Params: k.sent.Params, Back: k.back}
	return u.call(k.ctx, k.caller, &req, func() (*jsonrpc.Response, error, bool) { return u.verdict(k.ctx, l, resp, err) })
}
