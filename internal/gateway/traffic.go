package gateway

import (
	"context"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/gateway/entry"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/traffic"
)

// traceKey leads from the context of a request to its trace.
type traceKey struct{}

// A trace is one call on its way down.
type trace struct {
	id     uint64 // in the record
	start  time.Time
	call   traffic.Call
	params []byte
	span   traffic.Span
	target atomic.Pointer[target] // the last one that it led to
	back   back                   // for a request of a legacy session
	cached atomic.Bool            // its answer was known
}

// leadsTo notes what a call leads to.
func (t *trace) leadsTo(to *target) {
	if t != nil {
		t.target.Store(to)
	}
}

// recalled notes that a call was answered from the cache.
func (t *trace) recalled() {
	if t != nil {
		t.cached.Store(true)
	}
}

// traced is the trace of a request; nil when nobody watches.
func traced(ctx context.Context) *trace {
	t, _ := ctx.Value(traceKey{}).(*trace)
	return t
}

// recorded answers a request and records it.
func (s *Session) recorded(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	ctx, t := s.begin(ctx, s.opening.Via, from, req, s.opening.Server, entry.Subject(req.Params))
	resp, err := s.handle(ctx, from, req)
	s.end(ctx, t, resp, err)
	return resp, err
}

// begin begins the record of a call: of a client, or of what it caused. The
// trace is nil where nobody watches.
func (s *Session) begin(ctx context.Context, via traffic.Door, from jsonrpc.Peer, req *jsonrpc.Request, server, name string) (context.Context, *trace) {
	if !s.gw.record.Watched() {
		return ctx, nil
	}
	t := &trace{start: time.Now(), params: req.Params}
	t.call = traffic.Call{Hop: traffic.HopClient, Server: server, Start: t.start}
	above := traced(ctx)
	if above != nil {
		t.call.Parent = above.id
	}
	s.summarize(&t.call, via, req, name)
	if s.opening.Peer {
		t.call.Principal = access.From(ctx).ID
	}
	t.id = s.gw.record.Traffic.Begin(&t.call, req.Params)
	t.back = back{s, from, t.id}
	switch {
	case s.gw.record.Observe == nil:
	case above != nil:
		t.span = above.span.Child()
	default:
		t.span = traffic.NewSpan(s.opening.traceparent(req.Params))
	}
	return context.WithValue(ctx, traceKey{}, t), t
}

// end ends the record of a call.
func (s *Session) end(ctx context.Context, t *trace, resp *jsonrpc.Response, err error) {
	if t == nil {
		return
	}
	o, body := entry.Outcome(ctx, resp, err)
	o.Total = time.Since(t.start)
	if t.cached.Load() {
		o.Notes = []string{traffic.Recalled}
	}
	if to := t.target.Load(); to != nil && to.upstream != nil {
		o.Server, o.Item = to.upstream.Name(), to.name
	}
	s.gw.record.End(t.id, &t.span, &t.call, &o, t.params, body)
}

// summarize begins the entry of a call in the record.
func (s *Session) summarize(c *traffic.Call, via traffic.Door, req *jsonrpc.Request, name string) {
	c.Kind, c.Session, c.Client = traffic.KindCall, s.caller.Session, s.clientName()
	c.Principal, c.Door, c.Schema = s.opening.Who.ID, via, s.opening.Schema
	c.Method, c.Name, c.ReqSize = req.Method, name, int64(len(req.Params))
}

// traceparent is what the client says about the trace that a request belongs
// to.
func (o *Opening) traceparent(params []byte) string {
	if text, ok := jsonrpc.GetString(params, "_meta", "traceparent"); ok {
		return text
	}
	return o.Header.Get("Traceparent")
}

// asked keeps a record of a question that a server put to the client.
func (s *Session) asked(parent uint64, start time.Time, req *jsonrpc.Request, resp *jsonrpc.Response, err error) {
	rec := s.gw.record.Traffic
	if !rec.Enabled() {
		return
	}
	o, body := entry.Outcome(context.Background(), resp, err)
	rec.Add(&traffic.Call{
		Kind: traffic.KindCall, Hop: traffic.HopClient, FromServer: true, Start: start, Session: s.caller.Session,
		Client: s.clientName(), Principal: s.opening.Who.ID, Door: s.opening.Via, Schema: s.opening.Schema, Method: req.Method, Status: o.Status, Code: o.Code,
		Total: time.Since(start), ReqSize: int64(len(req.Params)), Parent: parent,
	}, req.Params, body)
}

// told keeps a record of a notification that a server sent, while somebody
// looks.
func (s *Session) told(parent uint64, n *jsonrpc.Notification) {
	rec := s.gw.record.Traffic
	if !rec.Attached() {
		return
	}
	rec.Add(&traffic.Call{
		Kind: traffic.KindNotification, Hop: traffic.HopClient, FromServer: true, Start: time.Now(), Session: s.caller.Session,
		Client: s.clientName(), Principal: s.opening.Who.ID, Door: s.opening.Via, Schema: s.opening.Schema, Method: n.Method, ReqSize: int64(len(n.Params)), Parent: parent,
	}, n.Params, nil)
}

// clientName is what the client calls itself.
func (s *Session) clientName() string {
	if name := s.name.Load(); name != nil {
		return *name
	}
	return ""
}
