package gateway

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
)

// traceKey leads from the context of a request to its trace.
type traceKey struct{}

// A trace is one request of a client on its way down.
type trace struct {
	id     uint64 // in the record
	span   traffic.Span
	server atomic.Pointer[upstream.Upstream] // the last one that was called because of it
}

// traceOf is the entry of the request in the record.
func traceOf(ctx context.Context) uint64 {
	if t, ok := ctx.Value(traceKey{}).(*trace); ok {
		return t.id
	}
	return 0
}

// recorded answers a request, keeps a record of it, and tells whoever
// observes.
func (s *Session) recorded(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	c := s.entry(traffic.HopClient, s.opening.Server, req)
	t := &trace{id: s.gw.opt.Traffic.Begin(&c, req.Params)}
	if s.gw.opt.Observe != nil {
		t.span = traffic.NewSpan(s.traceparent(req.Params))
	}
	resp, err := s.handle(context.WithValue(ctx, traceKey{}, t), from, req)
	o, body := outcomeOf(ctx, resp, err)
	o.Total = time.Since(c.Start)
	if u := t.server.Load(); u != nil {
		o.Server = u.Name()
	}
	s.ended(t.id, t.span, &c, &o, req.Params, body)
	return resp, err
}

// entry begins the entry of a call in the record.
func (s *Session) entry(hop traffic.Hop, server string, req *jsonrpc.Request) traffic.Call {
	return traffic.Call{
		Kind: traffic.KindCall, Hop: hop, Start: time.Now(), Session: s.caller.Session, Client: s.clientName(),
		Principal: s.opening.Principal, Schema: s.opening.Schema, Server: server,
		Method: req.Method, Name: subject(req.Params), ReqSize: int64(len(req.Params)),
	}
}

// ended notes how a call ended.
func (s *Session) ended(id uint64, span traffic.Span, c *traffic.Call, o *traffic.Outcome, params, body []byte) {
	s.gw.opt.Traffic.End(id, o, body)
	if s.gw.opt.Observe == nil {
		return
	}
	seen := traffic.Observation{Call: *c, Span: span, Request: params}
	seen.Status, seen.Code, seen.Reason, seen.Total, seen.ResSize = o.Status, o.Code, o.Reason, o.Total, int64(len(body))
	if o.Server != "" {
		seen.Server = o.Server
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

// call calls a server and keeps a record of that hop.
func (s *Session) call(ctx context.Context, p party, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if s.gw.pressure.level() >= refuseCallsAt {
		return nil, s.gw.shortOfMemory()
	}
	if !s.gw.opt.Traffic.Enabled() && s.gw.opt.Observe == nil {
		return u.Call(ctx, p.caller, req)
	}
	c := s.entry(traffic.HopServer, u.Name(), req)
	c.Notes = translations(p, u)
	var span traffic.Span
	if t, ok := ctx.Value(traceKey{}).(*trace); ok {
		c.Parent, span = t.id, t.span.Child()
		t.server.Store(u)
	}
	id := s.gw.opt.Traffic.Begin(&c, req.Params)
	resp, err := u.Call(ctx, p.caller, req)
	o, body := outcomeOf(ctx, resp, err)
	o.Total = time.Since(c.Start)
	o.ServerTime = o.Total
	s.ended(id, span, &c, &o, req.Params, body)
	return resp, err
}

// translations says what had to be translated between a client and a server.
func translations(p party, u *upstream.Upstream) []string {
	version := u.Protocol()
	if version == "" || version == p.caller.Version {
		return nil
	}
	if mcp.Rules(version).Era != p.caller.Era {
		return []string{"bridged from " + p.caller.Version + " to " + version + ": the other era"}
	}
	return []string{"client speaks " + p.caller.Version + ", server " + version}
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
		Client: s.clientName(), Schema: s.opening.Schema, Method: req.Method, Status: o.Status, Code: o.Code,
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
		Client: s.clientName(), Schema: s.opening.Schema, Method: n.Method, ReqSize: int64(len(n.Params)), Parent: parent,
	}, n.Params, nil)
}

// outcomeOf is how a request ended, and the body of its answer.
func outcomeOf(ctx context.Context, resp *jsonrpc.Response, err error) (traffic.Outcome, []byte) {
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &wire):
	case err != nil && ctx.Err() != nil:
		return traffic.Outcome{Status: traffic.StatusCancelled}, nil
	case err != nil:
		return traffic.Outcome{Status: traffic.StatusError, Code: jsonrpc.CodeInternal}, []byte(err.Error())
	case resp.Err != nil:
		wire = resp.Err
	case isToolError(resp.Result):
		return traffic.Outcome{Status: traffic.StatusToolError}, resp.Result
	default:
		return traffic.Outcome{Status: traffic.StatusOK}, resp.Result
	}
	return traffic.Outcome{Status: traffic.StatusError, Code: wire.Code, Reason: reasonOf(wire)}, jsonrpc.AppendError(nil, wire)
}

// reasonOf is the reason of an error that we made; empty for a server's.
func reasonOf(e *jsonrpc.Error) string {
	if e.Raw != nil || e.Code != jsonrpc.CodeInternal {
		return ""
	}
	reason, _ := jsonrpc.GetString(e.Data, "reason")
	return reason
}

// edge is how much of a large result is looked at for its isError member.
const edge = 512

// isToolError says whether a result is a tool's error. Only the ends of a
// large one are looked at: the member stands at one of them.
func isToolError(result []byte) bool {
	mark := []byte(`"isError":true`)
	if len(result) <= 2*edge {
		return bytes.Contains(result, mark)
	}
	return bytes.Contains(result[:edge], mark) || bytes.Contains(result[len(result)-edge:], mark)
}

// subject is what a request is about: a tool, a prompt, a resource.
func subject(params []byte) string {
	if name, ok := jsonrpc.GetString(params, "name"); ok {
		return name
	}
	uri, _ := jsonrpc.GetString(params, "uri")
	return uri
}

// clientName is what the client calls itself.
func (s *Session) clientName() string {
	if name := s.name.Load(); name != nil {
		return *name
	}
	return ""
}
