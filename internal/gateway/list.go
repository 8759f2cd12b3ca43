package gateway

import (
	"context"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

var listKinds = map[string]catalog.Kind{
	mcp.MethodToolsList:     catalog.Tools,
	mcp.MethodPromptsList:   catalog.Prompts,
	mcp.MethodResourcesList: catalog.Resources,
	mcp.MethodTemplatesList: catalog.Templates,
}

// list answers one of the four lists from memory, as one page.
func (s *Session) list(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	s.settle(ctx)
	now := s.look()
	s.remember(now)
	if req.Method == mcp.MethodToolsList {
		s.keep(now)
		s.showed(now)
	}
	return listAs(req, now.shown, s.listView(listKinds[req.Method]))
}

func listAs(req *jsonrpc.Request, shown *catalog.Catalog, v catalog.View) (*jsonrpc.Response, error) {
	kind := listKinds[req.Method]
	raw := jsonrpc.Get(req.Params, "cursor")
	if len(raw) == 0 || raw[0] == 'n' {
		return &jsonrpc.Response{Result: shown.List(kind, v)}, nil
	}
	cursor, ok := jsonrpc.GetString(req.Params, "cursor")
	if !ok {
		return nil, invalidParams("cursor must be a string")
	}
	page, err := shown.Page(kind, v, cursor, 0)
	if err != nil {
		return nil, invalidParams("%v", err)
	}
	return &jsonrpc.Response{Result: page}, nil
}

// listView is how lists are written for this client.
func (s *Session) listView(kind catalog.Kind) catalog.View {
	return catalog.View{Version: s.rules.Date, Scope: s.scope, Visible: s.sees(kind), Fit: s.fit(mcp.Legacy)}
}

// modernView is how lists are written for a modern client.
func (s *Session) modernView(kind catalog.Kind) catalog.View {
	return catalog.View{Version: mcp.LatestModern, Modern: true, Scope: s.scope, Visible: s.sees(kind), Fit: s.fit(mcp.Modern)}
}
