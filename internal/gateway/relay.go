package gateway

import (
	"context"
	"log/slog"

	"mcp-all-in-one/internal/builtin"
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
	ref, miss := s.toolFor(named.name)
	if miss != nil || ref.Server == builtin.Server {
		return false
	}
	u := s.upstream(ref.Server)
	if u == nil || u.Config().Validate == "full" || hasTasks(u.Features(s.caller)) {
		return false
	}
	if resp, err := checkArguments(u, ref.Item, arguments, s.rules); resp != nil || err != nil {
		return false
	}
	params := req.Params
	if ref.Name != named.name {
		params = t.Splice(params, at[0], s.quoted(named, ref.Name))
	}
	r := &relayed{back: back{s: s, from: from}, u: u, done: done}
	if !u.Begin(ctx, t, s.caller, &jsonrpc.Request{Method: req.Method, Params: params, Back: &r.back}, r) {
		return false
	}
	s.calls.Add(1)
	return true
}

// plainMembers are those of params that Relay looks at.
var plainMembers = [...]string{"name", "arguments", "_meta"}

// A naming is the name of a tool that a client used, and how its server writes
// it. The last one is kept: clients call a tool again and again.
type naming struct {
	raw    string // as it stood in the request
	name   string // empty when it is no text
	own    string
	quoted []byte // own, as JSON
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

// quoted is the server's own name as JSON.
func (s *Session) quoted(n *naming, own string) []byte {
	if n.own == own && n.quoted != nil {
		return n.quoted
	}
	n = &naming{raw: n.raw, name: n.name, own: own, quoted: jsonrpc.Quote(own)}
	s.named.Store(n)
	return n.quoted
}

// watched says whether somebody wants to see every request.
func (s *Session) watched(ctx context.Context) bool {
	return s.gw.opt.Traffic.Enabled() || s.gw.opt.Observe != nil || s.gw.log.Enabled(ctx, slog.LevelDebug)
}

// A relayed call is one that nobody waits for.
type relayed struct {
	back
	u    *upstream.Upstream
	done jsonrpc.Completion
}

// maxInTurn is the size from which an answer is not looked at by the goroutine
// that reads for others.
const maxInTurn = 32 << 10

// Complete makes the answer of the server one for the client.
func (r *relayed) Complete(t *jsonrpc.Turn, resp *jsonrpc.Response, err error) {
	if t != nil && resp != nil && len(resp.Result) > maxInTurn {
		go r.Complete(nil, resp, err)
		return
	}
	defer func() {
		if v := recover(); v != nil {
			r.s.gw.log.Error("panic while answering", "upstream", r.u.Name(), "panic", v)
			r.done.Complete(t, nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "internal error"))
		}
	}()
	if err == nil && resp.Err == nil {
		r.s.adapt(r.s.rules, r.u, resp)
		resp.Result = r.s.finishTool(resp.Result)
	}
	r.done.Complete(t, resp, err)
}
