package gateway

import (
	"bytes"
	"context"
	"log/slog"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// Relay implements jsonrpc.Relayer: a plain call of a tool, which is most of
// what clients send, is passed on without a goroutine that waits for it.
// Whatever is not plain is left to Handle.
func (s *Session) Relay(ctx context.Context, t *jsonrpc.Turn, from jsonrpc.Peer, req *jsonrpc.Request, done jsonrpc.Completion) bool {
	if req.Method != mcp.MethodToolsCall || s.watched(ctx) || s.gw.pressure.levelAt(t.Now()) >= refuseCallsAt {
		return false
	}
	var at [len(plainMembers)]jsonrpc.Span
	jsonrpc.Locate(req.Params, plainMembers[:], at[:])
	named, arguments := s.naming(req.Params[at[0].Start:at[0].End]), req.Params[at[1].Start:at[1].End]
	if named.name == "" || len(arguments) > 0 && arguments[0] != '{' {
		return false
	}
	if len(arguments) == 0 {
		arguments = nil
	}
	p := party{caller: s.caller, rules: s.rules}
	if at[2].End > 0 { // a modern request has its caller in _meta
		again := at[3].End > 0 || at[4].End > 0
		if p = s.plainModern(req, req.Params[at[2].Start:at[2].End]); p.caller == nil || again {
			return false
		}
	}
	s.greet(p.caller)
	if named = s.routed(named, p); !named.plain {
		return false
	}
	u := named.u
	pipe := u.PipeFor(p.caller)
	if pipe == nil && (t.Wait == nil || p.rules.Era == mcp.Modern) {
		return false
	}
	if resp, err := checkArguments(u, named.ref.Item, arguments, p.rules); resp != nil || err != nil {
		return false
	}
	params := req.Params
	if named.quoted != nil {
		params = t.Splice(params, at[0], named.quoted)
	}
	s.calls.Add(1)
	r := &relayed{back: back{s: s, from: from}, party: p, ctx: ctx, u: u, done: done}
	r.down = jsonrpc.Request{Method: req.Method, Params: params, Back: &r.back}
	if p.rules.Era == mcp.Modern {
		r.down.Back, r.asked = modernBack{p.caller, from}, bytes.Clone(req.Params)
	}
	if s.gw.opt.Traffic.Enabled() {
		r.record(t.Now(), req, named)
	}
	switch {
	case pipe != nil && pipe.Begin(ctx, t, p.caller, &r.down, r):
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
var plainMembers = [...]string{"name", "arguments", "_meta", "requestState", "inputResponses"}

// A naming is the name of a tool that a client used, and where it leads. The
// last one is kept: clients call a tool again and again.
type naming struct {
	raw  string // as it stood in the request
	name string // empty when it is no text

	// Where it leads, as long as the view is the same.
	view   *view
	caller *upstream.Caller
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
func (s *Session) routed(n *naming, p party) *naming {
	v, may := s.look(), s.opening.Visible
	same := n.view == v && n.caller == p.caller && (n.u == nil || n.u.Config() == n.config)
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
	n = &naming{raw: n.raw, name: n.name, view: v, caller: p.caller, ref: ref, u: s.upstream(ref.Server)}
	if n.u != nil {
		n.config = n.u.Config()
		n.plain = !hasTasks(n.u.Features(p.caller)) && (ref.Item == nil || !ref.Item.NeedsTask) &&
			n.config.Validate != "full" && !n.config.Tools[ref.Name].Ask &&
			(p.rules.Era == mcp.Legacy || s.opening.Header == nil || ref.Item == nil || len(catalog.HeaderParams(ref.Item)) == 0)
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
