package gateway

import (
	"context"
	"time"

	"mcp-all-in-one/internal/gateway/tasks"
	"mcp-all-in-one/internal/gateway/welcome"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

const closeWait = 2 * time.Second

// initialize shakes hands with a client. While the gateway starts, it waits for
// the servers, for a bounded time: their capabilities cannot be told later.
func (s *Session) initialize(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	hello, err := welcome.Read(req.Params)
	if err != nil {
		return nil, err
	}
	if !s.introduce(&hello) {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "this session is initialized already")
	}
	s.gw.tellClients()
	s.greet(s.caller)
	s.startup.hello(ctx)
	return &jsonrpc.Response{Result: s.welcome(ctx, hello.Version, hello.Capabilities)}, nil
}

// welcome is the result of initialize.
func (s *Session) welcome(ctx context.Context, version string, clientCaps []byte) []byte {
	caps := s.capabilities(ctx, party{caller: s.caller, rules: s.rules})
	if s.seed {
		for _, word := range []string{"roots", "sampling"} {
			if jsonrpc.Get(clientCaps, word) != nil {
				caps = jsonrpc.Set(caps, []byte(`{}`), word)
			}
		}
	}
	return welcome.Initialized(version, caps, s.serverInfo(), s.instructions())
}

// serverInfo is who we are: ourselves, also in front of a single server. Another
// replica, which asks for its own clients, hears of the server itself.
func (s *sight) serverInfo() []byte {
	if s.opening.Peer {
		return upstream.ServerInfo(s.upstreams(), s.gw.info)
	}
	return s.gw.info
}

// instructions joins what the servers say about their use, as far as they have
// said it.
func (s *sight) instructions() string {
	var all welcome.Instructions
	for _, u := range s.upstreams() {
		f := u.Features(s.caller) // without what a pin holds back
		if f == nil {
			continue
		}
		if s.opening.Server != "" {
			return f.Instructions
		}
		all.Add(u.Name(), f.Instructions)
	}
	return all.String()
}

// capabilities are ours, with what the servers add that needs nothing of us but
// routing, or translating.
func (s *sight) capabilities(ctx context.Context, p party) []byte {
	caps := welcome.NewCapabilities(p.rules, p.caller.Offer.Extensions)
	for _, u := range s.upstreams() {
		f := u.Features(p.caller)
		if f == nil {
			continue
		}
		caps.Extend(f.Capabilities)
		if era, ok := u.Tasks(ctx, p.caller); ok {
			caps.AddTasks(era, f.Capabilities)
		}
	}
	if s.runs() {
		caps.AddTasks(mcp.Legacy, []byte(tasks.Declared))
	}
	return caps.JSON
}
