package gateway

import (
	"context"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// other routes a method that we do not know: to the one server that it can be
// meant for, or nowhere.
func (s *Session) other(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return s.runOther(ctx, s.plain(ctx, from), req)
}

func (s *Session) runOther(ctx context.Context, p party, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	switch req.Method {
	case mcp.MethodTasksGet, mcp.MethodTasksResult, mcp.MethodTasksCancel, mcp.MethodTasksUpdate:
		return s.task(ctx, p, req)
	case mcp.MethodTasksList:
		return s.listTasks(ctx, p, req)
	}
	u := s.extensionOwner(req.Method)
	if u == nil {
		return nil, methodNotFound(req.Method, "Method not found")
	}
	return s.call(ctx, p, u, &jsonrpc.Request{Method: req.Method, Params: req.Params, Back: p.back})
}

// extensionOwner is the only server that a method outside the protocol can be
// meant for: the one addressed, or the only one that declares extensions.
func (s *Session) extensionOwner(method string) *upstream.Upstream {
	if !strings.Contains(method, "/") || strings.HasPrefix(method, "rpc.") {
		return nil
	}
	var found *upstream.Upstream
	for _, u := range s.upstreams() {
		if !u.Features(s.caller).Offers("extensions") && !u.Features(s.caller).Offers("experimental") {
			continue
		}
		if found != nil {
			return nil
		}
		found = u
	}
	return found
}
