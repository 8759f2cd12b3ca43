package mcphttp

import (
	"context"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/sse"
)

// Notify says something to the client before its answer. A client that reads
// no event streams does not hear it.
func (p *post) Notify(_ context.Context, n *jsonrpc.Notification) error {
	if !p.accept.events {
		p.srv.dropped.Add(1)
		return nil
	}
	return p.say(jsonrpc.AppendNotification(nil, n.Method, n.Params))
}

// Call asks the client something while its own request waits.
func (p *post) Call(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	switch {
	case p.session == nil:
		return nil, errStateless
	case !p.accept.events:
		return nil, errNoStream
	}
	return p.session.ask(ctx, req, p.say)
}

// RequestID is the raw id of the request that this is the way back of.
func (p *post) RequestID() []byte { return p.id }

func (p *post) say(msg []byte) error {
	st := p.upgrade()
	if st == nil || !st.append(sse.OneLine(msg), &p.srv.lim) {
		return jsonrpc.ErrClosed
	}
	return nil
}

// upgrade turns the answer into an event stream, unless it is one already. It
// returns nil when the answer has been given, or when the client reads no
// event streams.
func (p *post) upgrade() *stream {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stream != nil || p.over || !p.accept.events {
		return p.stream
	}
	j, alive, prime := &journal{}, p.r.Context(), false
	if p.session != nil {
		j, alive = &p.session.journal, p.session.ctx
		prime = primes(p.session)
	}
	st := j.newStream(nil)
	k := newSink(p.w, p.r.Context(), &p.srv.lim)
	st.attach(k)
	p.stream, p.pumped = st, make(chan struct{})
	p.srv.work.Go(func() {
		defer close(p.pumped)
		p.pump(st, k, alive, prime)
	})
	return st
}

func (p *post) pump(st *stream, k *sink, alive context.Context, prime bool) {
	if err := k.start(st, prime); err != nil {
		st.detach(k)
		return
	}
	if err := st.pump(k, alive, nil); err != nil {
		p.srv.gone(err)
		if p.session == nil { // here a broken stream is how a client cancels
			p.cancel(jsonrpc.ErrCancelled)
		}
	}
}

// primes says whether the streams of a session begin with an event that they
// can be resumed from.
func primes(ss *session) bool { return ss.handler.Version() >= mcp.V2025_11_25 }
