package gateway

import (
	"bytes"
	"context"
	"errors"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
)

// traceKey leads from the context of a request to its entry in the record.
type traceKey struct{}

func traceOf(ctx context.Context) uint64 {
	id, _ := ctx.Value(traceKey{}).(uint64)
	return id
}

// recorded answers a request and keeps a record of it.
func (s *Session) recorded(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	rec := s.gw.opt.Traffic
	start := time.Now()
	id := rec.Begin(&traffic.Call{
		Kind: traffic.KindCall, Hop: traffic.HopClient, Start: start, Session: s.caller.Session, Client: s.clientName(),
		Principal: s.opening.Principal, Schema: s.opening.Schema, Server: s.opening.Server,
		Method: req.Method, Name: subject(req.Params), ReqSize: int64(len(req.Params)),
	}, req.Params)
	resp, err := s.handle(context.WithValue(ctx, traceKey{}, id), from, req)
	o, body := outcomeOf(ctx, resp, err)
	o.Total = time.Since(start)
	rec.End(id, &o, body)
	return resp, err
}

// call calls a server and keeps a record of that hop.
func (s *Session) call(ctx context.Context, p party, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if s.gw.pressure.level() >= refuseCallsAt {
		return nil, shortOfMemory()
	}
	rec := s.gw.opt.Traffic
	if !rec.Enabled() {
		return u.Call(ctx, p.caller, req)
	}
	start := time.Now()
	id := rec.Begin(&traffic.Call{
		Kind: traffic.KindCall, Hop: traffic.HopServer, Start: start, Session: s.caller.Session, Client: s.clientName(),
		Principal: s.opening.Principal, Schema: s.opening.Schema, Server: u.Name(),
		Method: req.Method, Name: subject(req.Params), ReqSize: int64(len(req.Params)), Parent: traceOf(ctx),
		Notes: translations(p, u),
	}, req.Params)
	resp, err := u.Call(ctx, p.caller, req)
	o, body := outcomeOf(ctx, resp, err)
	o.Total = time.Since(start)
	o.ServerTime = o.Total
	rec.End(id, &o, body)
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
	return traffic.Outcome{Status: traffic.StatusError, Code: wire.Code}, jsonrpc.AppendError(nil, wire)
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
