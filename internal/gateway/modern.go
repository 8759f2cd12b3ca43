package gateway

import (
	"context"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway/entry"
	"mcp-all-in-one/internal/gateway/modern"
	"mcp-all-in-one/internal/gateway/roots"
	"mcp-all-in-one/internal/gateway/welcome"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// handleModern answers one request of the modern era. It leaves no state
// behind, except for a call that waits for an answer of the client.
func (s *Session) handleModern(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	caller, err := s.opening.modernCaller(req)
	if err != nil {
		return nil, err
	}
	if s.opening.Header != nil {
		// The session exists for this request only. A legacy server may list
		// different items depending on the client's capabilities.
		s.caller.Era, s.caller.Offer = caller.Era, caller.Offer
	}
	s.greet(caller)
	p := requestClient{caller: caller, back: modern.Back{Level: caller.LogLevel(), From: from}, rules: mcp.Rules(mcp.LatestModern), roots: new(roots.Told)}
	return modern.Outcome(s.routeModern(ctx, from, p, req))
}

func (s *Session) routeModern(ctx context.Context, from jsonrpc.Peer, p requestClient, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	switch req.Method {
	case mcp.MethodDiscover:
		s.startup.meet(ctx, p)
		return &jsonrpc.Response{Result: welcome.Discovered(s.capabilities(ctx, p), s.serverInfo(), s.instructions())}, nil
	case mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodTemplatesList:
		if err := s.gw.memory.Reads(s.opening.Who.ID); err != nil {
			return nil, err
		}
		s.startup.awaitAll(ctx)
		now := s.look()
		if req.Method == mcp.MethodToolsList {
			s.account.showed(now)
		}
		return s.startup.unfinished(now.List(req, s.modernView(p.caller)))
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		return s.parkable(ctx, from, p, req, catalog.UplevelResult)
	case mcp.MethodResourcesRead:
		return s.parkable(ctx, from, p, req, catalog.UplevelCacheable)
	case mcp.MethodSkillsList, mcp.MethodSkillsGet:
		resp, err := s.forward(ctx, p, req)
		return modern.Finished(resp, err, catalog.UplevelCacheable)
	case mcp.MethodListen:
		return s.listen(ctx, from, p, req)
	case mcp.MethodInitialize, mcp.MethodPing, mcp.MethodSetLevel, mcp.MethodSubscribe, mcp.MethodUnsubscribe,
		mcp.MethodShutdown, mcp.MethodRootsList, mcp.MethodSampling, mcp.MethodElicit:
		return nil, jsonrpc.MethodNotFound(req.Method, "not a method of "+mcp.LatestModern)
	}
	resp, err := s.forward(ctx, p, req)
	return modern.Finished(resp, err, catalog.UplevelResult)
}

// modernCaller reads the caller from the request itself.
func (o *Opening) modernCaller(req *jsonrpc.Request) (*upstream.Caller, error) {
	m, err := modern.ReadMeta(req.Params)
	if err != nil {
		return nil, err
	}
	c := &upstream.Caller{Peer: o.Peer, Principal: o.Who.ID, Era: mcp.Modern, Version: m.Version, Offer: m.Offer, Info: m.Info}
	if m.LogLevel != "" {
		c.SetLogLevel(m.LogLevel)
	}
	return c, nil
}

// resultMeta returns the _meta of results that the gateway makes itself.
func (g *Gateway) resultMeta() []byte {
	return jsonrpc.Set([]byte(`{}`), g.info, mcp.MetaServerInfo)
}

// parkable runs a request during which a legacy server may ask the client. The
// client gets the question as the result; the call waits for its retry.
func (s *Session) parkable(ctx context.Context, from jsonrpc.Peer, p requestClient, req *jsonrpc.Request, finish modern.Finish) (*jsonrpc.Response, error) {
	if t := entry.Traced(ctx); t != nil {
		t.Back = nil // it keeps the request in memory
	}
	rounds := modern.Rounds{
		Calls: &s.gw.parks, Seals: s.gw.seals, Owner: s.gw.opt.Owner,
		Principal: s.opening.Who.ID, Holder: s.opening.Who.Owner(), Single: s.opening.Server != "", Peer: s.opening.Peer,
	}
	resp, err := rounds.Run(ctx, &modern.Round{
		Client: modern.Back{Level: p.caller.LogLevel(), From: from}, Offer: p.caller.Offer,
		Do: func(ctx context.Context, back jsonrpc.Handler, req *jsonrpc.Request) (*jsonrpc.Response, error) {
			p := p
			p.back = back
			return s.forward(ctx, p, req)
		},
		Owner:   func(ctx context.Context, req *jsonrpc.Request) string { return s.ownerFor(ctx, p, req) },
		Resumed: func(began context.Context) { entry.Traced(ctx).Resumes(entry.Traced(began)) },
	}, req)
	return modern.Finished(resp, err, finish)
}

// ownerFor returns the replica that a retry of req has to reach: this one,
// unless the server keeps the state and every replica reaches that server.
func (s *Session) ownerFor(ctx context.Context, p requestClient, req *jsonrpc.Request) string {
	if s.gw.opt.Owner == "" {
		return ""
	}
	if t, err := s.resolve(ctx, s.request(p, req)); err == nil && t.upstream != nil && t.stored == nil {
		if _, once := t.upstream.Spot(); once || t.upstream.Config().Type != config.TypeStdio {
			return ""
		}
	}
	return s.gw.opt.Owner
}
