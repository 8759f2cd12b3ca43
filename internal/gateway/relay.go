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
	c := readToolCall(req.Params)
	if c.name == "" || c.meta != nil || len(c.arguments) > 0 && c.arguments[0] != '{' {
		return false // a modern request has its caller in _meta
	}
	s.greet(s.caller)
	ref, miss := s.toolFor(c.name)
	if miss != nil || ref.Server == builtin.Server {
		return false
	}
	u := s.upstream(ref.Server)
	if u == nil || u.Config().Validate == "full" || hasTasks(u.Features(s.caller)) {
		return false
	}
	if resp, err := checkArguments(u, ref.Item, c.arguments, s.rules); resp != nil || err != nil {
		return false
	}
	params := req.Params
	if ref.Name != c.name {
		params = jsonrpc.Set(params, jsonrpc.Quote(ref.Name), "name")
	}
	r := &relayed{back: back{s: s, from: from}, u: u, done: done}
	if !u.Begin(ctx, t, s.caller, &jsonrpc.Request{Method: req.Method, Params: params, Back: &r.back}, r) {
		return false
	}
	s.calls.Add(1)
	return true
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
