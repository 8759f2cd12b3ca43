package gateway

import (
	"bytes"
	"context"
	"log/slog"
	"time"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
)

// Relay implements jsonrpc.Relayer: a plain call of a tool, which is most of
// what clients send, is passed on without a goroutine that waits for it.
// Whatever is not plain is left to Handle.
func (s *Session) Relay(ctx context.Context, t *jsonrpc.Turn, from jsonrpc.Peer, req *jsonrpc.Request, done jsonrpc.Completion) bool {
	if req.Method != mcp.MethodToolsCall || s.watched(ctx) || s.gw.pressure.levelAt(t.Now()) >= refuseCallsAt {
		return false
	}
	var at [3]jsonrpc.Span
	jsonrpc.Locate(req.Params, plainMembers[:], at[:])
	named, arguments := s.naming(req.Params[at[0].Start:at[0].End]), req.Params[at[1].Start:at[1].End]
	if named.name == "" || at[2].End > 0 || len(arguments) > 0 && arguments[0] != '{' {
		return false // a modern request has its caller in _meta
	}
	if len(arguments) == 0 {
		arguments = nil
	}
	s.greet(s.caller)
	if named = s.routed(named); !named.plain {
		return false
	}
	u := named.u
	pipe := u.PipeFor(s.caller)
	if pipe == nil && t.Wait == nil {
		return false
	}
	if resp, err := checkArguments(u, named.ref.Item, arguments, s.rules); resp != nil || err != nil {
		return false
	}
	params := req.Params
	if named.quoted != nil {
		params = t.Splice(params, at[0], named.quoted)
	}
	s.calls.Add(1)
	r := &relayed{back: back{s: s, from: from}, ctx: ctx, u: u, done: done}
	r.down = jsonrpc.Request{Method: req.Method, Params: params, Back: &r.back}
	if s.gw.opt.Traffic.Enabled() {
		r.record(t.Now(), req, named)
	}
	switch {
	case pipe != nil && pipe.Begin(ctx, t, s.caller, &r.down, r):
	case t.Wait != nil:
		t.Wait()
		r.wait(t)
	default: // what was recorded cannot be taken back
		r.down.Params = bytes.Clone(params)
		go r.wait(nil)
	}
	return true
}

// plainMembers are those of params that Relay looks at.
var plainMembers = [...]string{"name", "arguments", "_meta"}

// A naming is the name of a tool that a client used, and where it leads. The
// last one is kept: clients call a tool again and again.
type naming struct {
	raw  string // as it stood in the request
	name string // empty when it is no text

	// Where it leads, as long as the view is the same.
	view   *view
	config *config.Server
	u      *upstream.Upstream
	ref    catalog.Ref
	plain  bool   // a call is no more than passing it on
	quoted []byte // the server's own name as JSON; nil when it is the client's
}

func (s *Session) naming(raw []byte) *naming {
	if n := s.named.Load(); n != nil && n.raw == string(raw) {
		return n
	}
	name, _ := jsonrpc.Text(raw)
	n := &naming{raw: string(raw), name: name}
	s.named.Store(n)
	return n
}

// routed says where the name leads now. What a principal may see is asked each
// time.
func (s *Session) routed(n *naming) *naming {
	v, may := s.look(), s.opening.Visible
	same := n.view == v && (n.u == nil || n.u.Config() == n.config)
	if same && may == nil {
		return n
	}
	ref, miss := s.toolFor(n.name)
	if miss != nil || ref.Server == builtin.Server {
		return &naming{}
	}
	if same && n.ref == ref {
		return n
	}
	n = &naming{raw: n.raw, name: n.name, view: v, ref: ref, u: s.upstream(ref.Server)}
	if n.u != nil {
		n.config = n.u.Config()
		n.plain = !hasTasks(n.u.Features(s.caller)) && (ref.Item == nil || !ref.Item.NeedsTask) &&
			n.config.Validate != "full" && !n.config.Tools[ref.Name].Ask
	}
	if ref.Name != n.name {
		n.quoted = jsonrpc.Quote(ref.Name)
	}
	s.named.Store(n)
	return n
}

// watched says whether somebody wants to see every request, more than its entry
// in the record.
func (s *Session) watched(ctx context.Context) bool {
	return s.gw.opt.Observe != nil || s.gw.log.Enabled(ctx, slog.LevelDebug)
}

// A relayed call is one that nobody waits for.
type relayed struct {
	back
	ctx  context.Context
	u    *upstream.Upstream
	down jsonrpc.Request // to the server; its params are not ours
	done jsonrpc.Completion
	// start and hop are of its entry in the record, and of that of the call to
	// the server.
	start time.Time
	hop   uint64
}

// wait makes the call where somebody may wait for it.
func (r *relayed) wait(t *jsonrpc.Turn) {
	resp, err := r.u.Call(r.ctx, r.s.caller, &r.down)
	r.Complete(t, resp, err)
}

// record begins the two entries of a call: the client's, and that to the server.
func (r *relayed) record(now time.Time, req *jsonrpc.Request, named *naming) {
	s := r.s
	r.start = now
	c := traffic.Call{Hop: traffic.HopClient, Server: s.opening.Server, Start: now}
	s.summarize(&c, req, named.name)
	down := c
	down.Hop, down.Server, down.Notes = traffic.HopServer, r.u.Name(), s.gw.translated.of(party{caller: s.caller}, r.u)
	down.Name = named.ref.Name
	r.trace, r.hop = s.gw.opt.Traffic.BeginBoth(&c, req.Params, &down, r.down.Params)
}

// adapt makes the answer of the server one for the client.
func (r *relayed) adapt(resp *jsonrpc.Response, err error) {
	if err == nil && resp.Err == nil {
		r.s.adapt(r.s.rules, r.u, resp)
		resp.Result = r.s.finishTool(resp.Result)
	}
}

// recorded is adapt, and ends the two entries: with what the server said, and
// with what the client gets.
func (r *relayed) recorded(resp *jsonrpc.Response, err error) {
	rec := r.s.gw.opt.Traffic
	said, raw := outcomeOf(r.ctx, resp, err)
	said.Total = time.Since(r.start)
	got, body := said, raw
	said.ServerTime, got.Server = said.Total, r.u.Name()
	plain := err != nil || resp.Err != nil
	if !plain && !understands(r.s.rules, r.u.Protocol()) { // it may change in its place
		rec.End(r.hop, &said, raw)
		r.adapt(resp, nil)
		rec.End(r.trace, &got, resp.Result)
		return
	}
	if r.adapt(resp, err); !plain {
		body = resp.Result
	}
	rec.EndBoth(r.hop, &said, raw, r.trace, &got, body)
}

// maxInTurn is the size from which an answer is not looked at by the goroutine
// that reads for others.
const maxInTurn = 32 << 10

// Complete makes the answer of the server one for the client.
func (r *relayed) Complete(t *jsonrpc.Turn, resp *jsonrpc.Response, err error) {
	if t != nil && t.Wait == nil && resp != nil && len(resp.Result) > maxInTurn {
		go r.Complete(nil, resp, err)
		return
	}
	defer func() {
		if v := recover(); v != nil {
			r.s.gw.log.Error("panic while answering", "upstream", r.u.Name(), "panic", v)
			r.done.Complete(t, nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "internal error"))
		}
	}()
	if r.hop != 0 {
		r.recorded(resp, err)
	} else {
		r.adapt(resp, err)
	}
	r.done.Complete(t, resp, err)
}
