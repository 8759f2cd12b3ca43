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
	rounds := modern.Rounds{
		Calls: &s.gw.parks, Seals: s.gw.seals, Owner: s.gw.opt.Owner,
		Principal: s.opening.Who.ID, Single: s.opening.Server != "", Peer: s.opening.Peer,
	}
	resp, err := rounds.Run(ctx, &modern.Round{
		Client: modern.Back{Level: p.caller.LogLevel, From: from}, Offer: p.caller.Offer,
		Do: func(ctx context.Context, back jsonrpc.Handler, req *jsonrpc.Request) (*jsonrpc.Response, error) {
			p := p
			p.back = back
			return s.forward(ctx, p, req)
		},
		Owner: func(ctx context.Context, req *jsonrpc.Request) string { return s.ownerFor(ctx, p, req) },
	}, req)
	if err == nil && resp.Err == nil {
		resp.Result = finish(mcp.LatestModern, resp.Result, resp.Owned())
	}
	return resp, err
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
