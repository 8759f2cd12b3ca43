package gateway

import (
	"context"
	"time"

	"mcp-all-in-one/internal/gateway/modern"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// finishRound makes what a server answered a modern result: a question where
// it asked in another way, its state sealed where it has one.
func (s *Session) finishRound(ctx context.Context, p party, req *jsonrpc.Request, resp *jsonrpc.Response, err error) (*jsonrpc.Response, error) {
	if err == nil && resp.Err != nil && resp.Err.Code == mcp.CodeElicitURL {
		resp, err = s.elicitURL(p, req, resp)
	}
	if err != nil || resp.Err != nil || s.opening.Server != "" && s.gw.opt.Owner == "" {
		return resp, err
	}
	return s.wrapState(ctx, p, req, resp), nil
}

// elicitURL turns the error by which a 2025-11-25 server asks for a visit to a
// URL into a modern question. The retry sends the call again.
func (s *Session) elicitURL(p party, req *jsonrpc.Request, resp *jsonrpc.Response) (*jsonrpc.Response, error) {
	if !p.caller.Offer.ElicitURL {
		return nil, jsonrpc.Errorf(mcp.CodeCapabilityMissing, "this needs a client that can open a URL").
			WithData(map[string]any{"requiredCapabilities": map[string]any{"elicitation": map[string]any{"url": map[string]any{}}}})
	}
	requests := modern.Elicitations(resp.Err)
	if requests == nil {
		return resp, nil
	}
	return modern.InputResult(requests, s.seal(req, modern.Handle{Bare: true})), nil
}

// seal binds a handle to the client and to what it asked for.
func (s *Session) seal(req *jsonrpc.Request, v modern.Handle) string {
	if s.opening.Peer && v.Owner == "" {
		v.Owner = s.gw.opt.Owner // the other replica tells it from its own by that
	}
	v.Principal, v.Digest, v.Expires = s.opening.Who.ID, modern.Digest(req), time.Now().Add(modern.TTL).Unix()
	return s.gw.seals.Seal(v)
}

// wrapState seals the state of a modern server where several servers share
// the endpoint: a state then leads back to the server and the client that it
// was made for, and to the replica, where each has a copy of the server.
func (s *Session) wrapState(ctx context.Context, p party, req *jsonrpc.Request, resp *jsonrpc.Response) *jsonrpc.Response {
	kind, _ := jsonrpc.GetString(resp.Result, "resultType")
	if kind != "input_required" { // what may be large is read once
		return resp
	}
	state, ok := jsonrpc.GetString(resp.Result, "requestState")
	// What another replica sealed, where the server is, means nothing here.
	owner, ours := s.gw.seals.Owner(state)
	if !ok || ours && (owner == "" || owner == s.gw.opt.Owner) {
		return resp
	}
	v := modern.Handle{State: state, Owner: s.ownerFor(ctx, p, req)}
	if s.opening.Server != "" && v.Owner == "" {
		return resp // the server's own name, and its own state
	}
	resp.Result = jsonrpc.Set(resp.Result, jsonrpc.Quote(s.seal(req, v)), "requestState")
	return resp
}
