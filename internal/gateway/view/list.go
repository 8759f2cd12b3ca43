package view

import (
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

// List answers a request for one of the four lists. eyes returns the View for a
// kind.
func (v *View) List(req *jsonrpc.Request, eyes func(catalog.Kind) catalog.View) (*jsonrpc.Response, error) {
	kind := listKinds[req.Method]
	raw := jsonrpc.Get(req.Params, "cursor")
	if len(raw) == 0 || raw[0] == 'n' {
		return &jsonrpc.Response{Result: v.Shown.List(kind, eyes(kind))}, nil
	}
	cursor, ok := jsonrpc.GetString(req.Params, "cursor")
	if !ok {
		return nil, jsonrpc.InvalidParams("cursor must be a string")
	}
	page, err := v.Shown.Page(kind, eyes(kind), cursor, 0)
	if err != nil {
		return nil, jsonrpc.InvalidParams("%v", err)
	}
	return &jsonrpc.Response{Result: page}, nil
}

// Names returns the names of the tools and prompts that a client of a version
// sees.
func (v *View) Names(version string, tools, prompts catalog.Visible) []string {
	names := []string{}
	for kind, visible := range map[catalog.Kind]catalog.Visible{catalog.Tools: tools, catalog.Prompts: prompts} {
		list := v.Shown.List(kind, catalog.View{Version: version, Visible: visible})
		for item := range jsonrpc.Elements(jsonrpc.AsArray(jsonrpc.Get(list, kind.Member()))) {
			name, _ := jsonrpc.GetString(item, "name")
			names = append(names, name)
		}
	}
	return names
}
