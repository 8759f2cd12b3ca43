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

// initialize answers the handshake of a client. While the gateway starts, it
// waits for the servers, up to a limit: capabilities cannot be announced later.
func (s *Session) initialize(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	hello, err := welcome.Read(req.Params)
	if err != nil {
		return nil, err
	}
	if err := s.introduce(&hello); err != nil {
		return nil, err
	}
	s.gw.tellClients()
	s.greet(s.caller)
	s.startup.hello(ctx)
	return &jsonrpc.Response{Result: s.welcome(ctx, hello.Version, hello.Capabilities)}, nil
}

// welcome is the result of initialize.
func (s *Session) welcome(ctx context.Context, version string, clientCaps []byte) []byte {
	caps := s.capabilities(ctx, requestClient{caller: s.caller, rules: s.rules})
	if s.seed {
		for _, word := range []string{"roots", "sampling"} {
			if jsonrpc.Get(clientCaps, word) != nil {
				caps = jsonrpc.Set(caps, []byte(`{}`), word)
			}
		}
	}
	return welcome.Initialized(version, caps, s.serverInfo(), s.instructions())
}

// serverInfo describes the gateway, also in front of a single server. Another
// replica, which asks for its own clients, gets the info of the server itself.
func (s *sight) serverInfo() []byte {
	if s.opening.Peer {
		return upstream.ServerInfo(s.upstreams(), s.gw.info)
	}
	return s.gw.info
}

// instructions joins the instructions of the servers that have sent theirs.
func (s *sight) instructions() string {
	var all welcome.Instructions
	for _, u := range s.upstreams() {
		f := u.Features(s.caller) // without those that a pin holds back
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

// capabilities returns our own capabilities, plus those of the servers for
// which the gateway only has to route or translate.
func (s *sight) capabilities(ctx context.Context, p requestClient) []byte {
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
