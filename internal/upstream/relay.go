package upstream

import (
	"context"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Begin is Call, with params that have no _meta, for whoever does not wait:
// done hears the outcome. It reports false, and has done nothing, when the call
// is more than passing bytes on: it would have to wait for a connection or a
// place, or has to be translated.
func (u *Upstream) Begin(ctx context.Context, t *jsonrpc.Turn, c *Caller, req *jsonrpc.Request, done jsonrpc.Completion) bool {
	l := u.pipeFor(c)
	if l == nil {
		return false
	}
	select {
	case u.places <- struct{}{}:
		u.running.Add(1)
	default:
		return false
	}
	k := l.newCall(c, req, int64(t.Now().Sub(begun)))
	conn := l.peer.(*jsonrpc.Conn)
	k.conn, k.ctx, k.done = conn, ctx, done
	k.sent = jsonrpc.Request{Method: req.Method, Params: req.Params, Back: k}
	l.enter(k)
	if conn.Begin(ctx, t, &k.sent, k) {
		return true
	}
	l.end(k)
	u.leave()
	return false
}

// pipeFor is the connection over a pipe that c uses now, nil when it has none
// or when the two eras differ.
func (u *Upstream) pipeFor(c *Caller) *link {
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
	if _, ok := l.peer.(*jsonrpc.Conn); !ok {
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
	l, u := k.link, k.link.up
	l.end(k)
	if err != nil {
		err = u.failure(k.ctx, l, cause(k.ctx, err))
	}
	u.leave()
	k.done.Complete(t, resp, err)
}
