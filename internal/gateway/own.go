package gateway

import (
	"context"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/say"
)

// runOwn runs one of our own tools.
func (s *Session) runOwn(ctx context.Context, p party, name string, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	v := s.look()
	tool, about := v.compact.Tool(name), true
	if tool == nil {
		tool, about = s.own().Tool(name), false
	}
	if tool == nil {
		return nil, s.toolNotFound(name, &catalog.Miss{})
	}
	args := jsonrpc.Get(req.Params, "arguments")
	if len(args) > 0 && args[0] != '{' {
		return nil, invalidParams("arguments must be an object").WithData(map[string]string{"parameter": "arguments"})
	}
	if about {
		// It is about the servers. Those that look after the configuration are
		// the way out when one of them hangs.
		s.settle(ctx)
	}
	resp, err := tool.Run(ctx, s.env(p, s.look(), req), args)
	if err == nil && resp.Err == nil {
		s.inspected(name, resp.Result)
	}
	return resp, err
}

// env is what a tool of ours may reach on behalf of a party.
func (s *Session) env(p party, v *view, req *jsonrpc.Request) *builtin.Env {
	return &builtin.Env{
		Schema: s.schemaConfig(), Catalog: v.all, Visible: s.visible(),
		Call: func(ctx context.Context, server, tool string, arguments []byte) (*jsonrpc.Response, error) {
			u := s.upstream(server)
			if u == nil {
				return nil, say.Errorf("server %q is gone", "服务 %q 已不存在", server)
			}
			params := jsonrpc.Set(req.Params, jsonrpc.Quote(tool), "name")
			params = jsonrpc.Set(params, arguments, "arguments")
			ref, _ := v.all.ToolOf(server, tool, nil)
			return s.perform(ctx, p, u, ref.Item, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: params, Back: p.back})
		},
		Read: func(ctx context.Context, server, uri string) (*jsonrpc.Response, error) {
			return s.readOf(ctx, p, server, uri)
		},
		Ask: func(ctx context.Context, method string, params []byte) (*jsonrpc.Response, error) {
			if !p.caller.Offer.Allows(method, params) {
				return nil, methodNotFound(method, "the client does not offer this")
			}
			return p.back.Handle(ctx, nil, &jsonrpc.Request{Method: method, Params: params})
		},
	}
}

// readOf reads a resource of one server, where the principal may.
func (s *Session) readOf(ctx context.Context, p party, server, uri string) (*jsonrpc.Response, error) {
	owners, err := s.owners(ctx, uri, p)
	if err != nil {
		return nil, err
	}
	for _, o := range owners {
		if o.upstream.Name() == server {
			params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(o.uri), "uri")
			return s.send(ctx, p, o.upstream, &jsonrpc.Request{Method: mcp.MethodResourcesRead, Params: params, Back: p.back})
		}
	}
	return &jsonrpc.Response{Err: resourceNotFound(uri, p.rules.Era == mcp.Modern)}, nil
}
