package upstream

import (
	"context"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Pipe is a connection on which a call is no more than passing bytes on.
type Pipe = link

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
	conn := l.peer.(*jsonrpc.Conn)
	k := l.enterPlain(conn, c, req, int64(t.Now().Sub(begun)))
	k.ctx, k.done = ctx, done
	if conn.Begin(ctx, t, &jsonrpc.Request{Method: req.Method, Params: req.Params, Back: k}, k) {
		return true
	}
	l.end(k)
	u.leave()
	return false
}

// maxSpare is how many calls are kept for the next ones.
const maxSpare = 64

// enterPlain enters a call that Begin makes.
func (l *link) enterPlain(conn *jsonrpc.Conn, c *Caller, req *jsonrpc.Request, now int64) *call {
	idle := l.up.idleFor(req)
	l.mu.Lock()
	defer l.mu.Unlock()
	var k *call
	if n := len(l.spare); n > 0 {
		k, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		k = new(call)
	}
	*k = call{link: l, caller: c, back: req.Back, conn: conn, started: now, idle: idle}
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
		l.spare = append(l.spare, k)
	}
	return k.known
}

// PipeFor is the connection over a pipe that c uses now, nil when it has none
// or when the two eras differ.
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
		err = u.failure(k.ctx, l, cause(k.ctx, err))
	}
	u.leave()
	done.Complete(nil, resp, err)
}
