package mcphttp

import (
	"context"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/sse"
)

// Notify sends a notification before the response. It is dropped if the client does
// not accept event streams.
func (a *reply) Notify(_ context.Context, n *jsonrpc.Notification) error {
	if !a.accept.events {
		a.srv.dropped.Add(1)
		return nil
	}
	return a.say(jsonrpc.AppendNotification(nil, n.Method, n.Params))
}

// Call sends a request to the client while the client's own request runs.
func (a *reply) Call(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	switch {
	case a.session == nil:
		return nil, errStateless
	case !a.accept.events:
		return nil, errNoStream
	}
	return a.session.ask(ctx, req, a.say)
}

// RequestID returns the raw id of the client's request.
func (a *reply) RequestID() []byte { return a.id }

func (a *reply) say(msg []byte) error {
	st := a.upgrade()
	if st == nil || !st.append(sse.OneLine(msg), &a.srv.lim) {
		return jsonrpc.ErrClosed
	}
	return nil
}

// upgrade turns the response into an event stream, unless it is one already. It
// returns nil if the response has been sent or the client does not accept event
// streams.
func (a *reply) upgrade() *stream {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stream != nil || a.over || !a.accept.events {
		return a.stream
	}
	j, alive, prime := &journal{}, a.r.Context(), false
	if a.session != nil {
		j, alive = &a.session.journal, a.session.ctx
		prime = primes(a.session)
	}
	st := j.newStream(nil)
	k := newSink(a.w, a.r.Context(), &a.srv.lim, a.principal)
	st.attach(k)
	a.stream, a.pumped = st, make(chan struct{})
	a.srv.work.Go(func() {
		defer close(a.pumped)
		a.pump(st, k, alive, prime)
	})
	return st
}

func (a *reply) pump(st *stream, k *sink, alive context.Context, prime bool) {
	if err := k.start(st, prime); err != nil {
		st.detach(k)
		return
	}
	if err := st.pump(k, alive, nil); err != nil {
		a.srv.gone(err)
		if a.session == nil { // outside a session, a client cancels by closing the stream
			a.cancel(jsonrpc.ErrCancelled)
		}
	}
}

// primes reports whether the streams of a session begin with an event that they can
// be resumed from.
func primes(ss *session) bool { return ss.handler.Version() >= mcp.V2025_11_25 }
