package gateway

import (
	"context"
	"slices"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway/modern"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// parkable runs a request during which a legacy server may ask. Where it does,
// the client is told what is asked, and the call waits for the client's retry.
func (s *Session) parkable(ctx context.Context, from jsonrpc.Peer, p party, req *jsonrpc.Request, finish func(string, []byte, bool) []byte) (*jsonrpc.Response, error) {
	resp, err := s.parked(ctx, from, p, req)
	if err == nil && resp.Err == nil {
		resp.Result = finish(mcp.LatestModern, resp.Result, resp.Owned())
	}
	return resp, err
}

func (s *Session) parked(ctx context.Context, from jsonrpc.Peer, p party, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if state, ok := jsonrpc.GetString(req.Params, "requestState"); ok {
		handle, ours, err := s.gw.seals.Open(state, s.opening.Who.ID, modern.Digest(req))
		if err != nil {
			return nil, jsonrpc.InvalidParams("requestState is not valid")
		}
		if ours && handle.Call != "" {
			return s.resume(ctx, from, handle.Call, req)
		}
		if ours {
			req = handle.Restore(req)
		} else if s.opening.Server == "" {
			return nil, jsonrpc.InvalidParams("requestState is not valid")
		}
	}
	if p.caller.Offer.Empty() {
		resp, err := s.forward(ctx, p, req)
		return s.finishRound(ctx, p, req, resp, err)
	}
	// The call may outlive this request, and so must its parameters.
	req = &jsonrpc.Request{Method: req.Method, Params: append([]byte(nil), req.Params...)}
	k := s.gw.parks.Start(ctx, modern.Back{Level: p.caller.LogLevel, From: from}, func(ctx context.Context, back jsonrpc.Handler) (*jsonrpc.Response, error) {
		p := p
		p.back = back
		return s.forward(ctx, p, req)
	})
	resp, err := s.waitPark(ctx, k, req)
	return s.finishRound(ctx, p, req, resp, err)
}

// waitPark waits for the end of the call or for questions.
func (s *Session) waitPark(ctx context.Context, k *modern.Call, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if asks, resp, err := s.gw.parks.Wait(ctx, k); !asks {
		return resp, err
	}
	return s.inputRequired(k, req)
}

// inputRequired tells the client what is asked and leaves the call waiting.
func (s *Session) inputRequired(k *modern.Call, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	inputs, err := s.gw.parks.Leave(k)
	if err != nil {
		return nil, err
	}
	return modern.InputResult(inputs, s.seal(req, modern.Handle{Call: k.ID, Owner: s.gw.opt.Owner})), nil
}

// resume gives a waiting call the answers of its client.
func (s *Session) resume(ctx context.Context, from jsonrpc.Peer, id string, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	k, left := s.gw.parks.Resume(id, from, jsonrpc.Get(req.Params, "inputResponses"))
	if k == nil {
		return nil, jsonrpc.InvalidParams("requestState is not valid any more")
	}
	if left > 0 {
		return s.inputRequired(k, req)
	}
	return s.waitPark(ctx, k, req)
}

// ownerFor is the replica that a retry of req has to reach: this one, unless the
// server keeps the state and every replica reaches that server.
func (s *Session) ownerFor(ctx context.Context, p party, req *jsonrpc.Request) string {
	if s.gw.opt.Owner == "" {
		return ""
	}
	if t, err := s.resolve(ctx, s.request(p, req)); err == nil && t.upstream != nil {
		if _, once := t.upstream.Spot(); once || t.upstream.Config().Type != config.TypeStdio {
			return ""
		}
	}
	return s.gw.opt.Owner
}

// Bound says that a server has a process for this session alone, which nobody
// can start again as it was.
func (s *Session) Bound() bool {
	return slices.ContainsFunc(s.upstreams(), func(u *upstream.Upstream) bool {
		return u.Config().Type == config.TypeStdio && u.Alone(s.caller)
	})
}
