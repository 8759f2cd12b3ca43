package gateway

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
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
}

// leadsTo notes what a call leads to.
func (t *trace) leadsTo(to *target) {
	if t != nil {
		t.target.Store(to)
	}
}

// traced is the trace of a request; nil when nobody watches.
func traced(ctx context.Context) *trace {
	t, _ := ctx.Value(traceKey{}).(*trace)
	return t
}

// recorded answers a request and records it.
func (s *Session) recorded(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	ctx, t := s.begin(ctx, s.opening.Via, from, req, s.opening.Server, subject(req.Params))
	resp, err := s.handle(ctx, from, req)
	s.end(ctx, t, resp, err)
	return resp, err
}

// begin begins the record of a call: of a client, or of what it caused. The
// trace is nil where nobody watches.
func (s *Session) begin(ctx context.Context, via traffic.Door, from jsonrpc.Peer, req *jsonrpc.Request, server, name string) (context.Context, *trace) {
	if !s.watched() {
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
	t.id = s.gw.opt.Traffic.Begin(&t.call, req.Params)
	t.back = back{s, from, t.id}
	switch {
	case s.gw.opt.Observe == nil:
	case above != nil:
		t.span = above.span.Child()
	default:
		t.span = traffic.NewSpan(s.traceparent(req.Params))
	}
	return context.WithValue(ctx, traceKey{}, t), t
}

// end ends the record of a call.
func (s *Session) end(ctx context.Context, t *trace, resp *jsonrpc.Response, err error) {
	if t == nil {
		return
	}
	o, body := outcomeOf(ctx, resp, err)
	o.Total = time.Since(t.start)
	if to := t.target.Load(); to != nil && to.upstream != nil {
		o.Server, o.Item = to.upstream.Name(), to.name
	}
	s.ended(t.id, &t.span, &t.call, &o, t.params, body)
}

// watched says whether anything keeps a record of calls.
func (s *Session) watched() bool { return s.gw.opt.Traffic.Enabled() || s.gw.opt.Observe != nil }

// summarize begins the entry of a call in the record.
func (s *Session) summarize(c *traffic.Call, via traffic.Door, req *jsonrpc.Request, name string) {
	c.Kind, c.Session, c.Client = traffic.KindCall, s.caller.Session, s.clientName()
	c.Principal, c.Door, c.Schema = s.opening.Who.ID, via, s.opening.Schema
	c.Method, c.Name, c.ReqSize = req.Method, name, int64(len(req.Params))
}

// ended notes how a call ended.
func (s *Session) ended(id uint64, span *traffic.Span, c *traffic.Call, o *traffic.Outcome, params, body []byte) {
	s.gw.opt.Traffic.End(id, o, body)
	if s.gw.opt.Observe == nil {
		return
	}
	seen := traffic.Observation{Call: *c, Span: *span, Request: params}
	seen.Name = strings.Clone(c.Name)
	seen.Status, seen.Code, seen.Reason, seen.Total, seen.ResSize = o.Status, o.Code, o.Reason, o.Total, int64(len(body))
	if o.Server != "" {
		seen.Server, seen.Item = o.Server, o.Item
	}
	s.gw.opt.Observe(&seen)
}

// traceparent is what the client says about the trace that a request belongs
// to.
func (s *Session) traceparent(params []byte) string {
	if text, ok := jsonrpc.GetString(params, "_meta", "traceparent"); ok {
		return text
	}
	return s.opening.Header.Get("Traceparent")
}

// asked keeps a record of a question that a server put to the client.
func (s *Session) asked(parent uint64, start time.Time, req *jsonrpc.Request, resp *jsonrpc.Response, err error) {
	rec := s.gw.opt.Traffic
	if !rec.Enabled() {
		return
	}
	o, body := outcomeOf(context.Background(), resp, err)
	rec.Add(&traffic.Call{
		Kind: traffic.KindCall, Hop: traffic.HopClient, FromServer: true, Start: start, Session: s.caller.Session,
		Client: s.clientName(), Principal: s.opening.Who.ID, Door: s.opening.Via, Schema: s.opening.Schema, Method: req.Method, Status: o.Status, Code: o.Code,
		Total: time.Since(start), ReqSize: int64(len(req.Params)), Parent: parent,
	}, req.Params, body)
}

// told keeps a record of a notification that a server sent, while somebody
// looks.
func (s *Session) told(parent uint64, n *jsonrpc.Notification) {
	rec := s.gw.opt.Traffic
	if !rec.Attached() {
		return
	}
	rec.Add(&traffic.Call{
		Kind: traffic.KindNotification, Hop: traffic.HopClient, FromServer: true, Start: time.Now(), Session: s.caller.Session,
		Client: s.clientName(), Principal: s.opening.Who.ID, Door: s.opening.Via, Schema: s.opening.Schema, Method: n.Method, ReqSize: int64(len(n.Params)), Parent: parent,
	}, n.Params, nil)
}

// outcomeOf is how a request ended, and the body of its answer.
func outcomeOf(ctx context.Context, resp *jsonrpc.Response, err error) (traffic.Outcome, []byte) {
	switch {
	case err != nil:
		return failure(ctx, err)
	case resp.Err != nil:
		return refusal(resp.Err)
	case mcp.IsToolError(resp.Result):
		return traffic.Outcome{Status: traffic.StatusToolError}, resp.Result
	default:
		return traffic.Outcome{Status: traffic.StatusOK}, resp.Result
	}
}

func failure(ctx context.Context, err error) (traffic.Outcome, []byte) {
	if wire, ok := asWire(err); ok {
		return refusal(wire)
	}
	if ctx.Err() != nil {
		return traffic.Outcome{Status: traffic.StatusCancelled}, nil
	}
	return traffic.Outcome{Status: traffic.StatusError, Code: jsonrpc.CodeInternal}, []byte(err.Error())
}

func refusal(e *jsonrpc.Error) (traffic.Outcome, []byte) {
	return traffic.Outcome{Status: traffic.StatusError, Code: e.Code, Reason: reasonOf(e)}, jsonrpc.AppendError(nil, e)
}

// reasonOf is the reason of an error that we made; empty for a server's.
func reasonOf(e *jsonrpc.Error) string {
	if e.Raw != nil || e.Code != jsonrpc.CodeInternal {
		return ""
	}
	reason, _ := jsonrpc.GetString(e.Data, "reason")
	return reason
}

// subject is what a request is about: a tool, a prompt, a resource. It may be a
// part of params: a caller that keeps it must copy it.
func subject(params []byte) string {
	if text, ok := leadingName(params); ok {
		return text
	}
	for _, path := range subjects {
		if text, ok := jsonrpc.GetString(params, path...); ok {
			return text
		}
	}
	return ""
}

// subjects are where the methods of the protocol say what they are about.
var subjects = [...][]string{{"name"}, {"uri"}, {"taskId"}, {"ref", "name"}, {"ref", "uri"}}

// leadingName is the name where it comes first and has no escapes, as in nearly
// all calls of tools.
func leadingName(params []byte) (string, bool) {
	const start = `{"name":"`
	if len(params) <= len(start) || string(params[:len(start)]) != start {
		return "", false
	}
	text := params[len(start):]
	n := bytes.IndexByte(text, '"')
	if n <= 0 || bytes.IndexByte(text[:n], '\\') >= 0 {
		return "", false
	}
	return unsafe.String(&text[0], n), true
}

// clientName is what the client calls itself.
func (s *Session) clientName() string {
	if name := s.name.Load(); name != nil {
		return *name
	}
	return ""
}
