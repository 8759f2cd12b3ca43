package mcptest

import (
	"context"
	"slices"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

func (s *Session) callTool(ctx context.Context, c *Call) (any, error) {
	sv := s.server
	sv.mu.Lock()
	i := slices.IndexFunc(sv.tools, func(t Tool) bool { return member(t.Definition, "name") == c.params.Name })
	var tool Tool
	if i >= 0 {
		tool = sv.tools[i]
	}
	sv.mu.Unlock()
	if i < 0 {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Unknown tool: %s", c.params.Name)
	}
	if sv.OnCall != nil {
		sv.OnCall(c.params.Name, c.Arguments)
	}
	return tool.Run(ctx, c)
}

func (s *Session) read(ctx context.Context, c *Call) (any, error) {
	uri := c.params.URI
	sv := s.server
	sv.mu.Lock()
	var read func(context.Context, *Call, string) (any, error)
	if i := slices.IndexFunc(sv.resources, func(r Resource) bool { return member(r.Definition, "uri") == uri }); i >= 0 {
		read = sv.resources[i].Read
	} else if i := slices.IndexFunc(sv.templates, func(t Template) bool { return t.matches(uri) }); i >= 0 {
		read = sv.templates[i].Read
	}
	sv.mu.Unlock()
	if read == nil {
		code := int64(mcp.CodeResourceNotFound)
		if c.modern {
			code = jsonrpc.CodeInvalidParams
		}
		return nil, jsonrpc.Errorf(code, "Resource not found: %s", uri).WithData(map[string]string{"uri": uri})
	}
	return read(ctx, c, uri)
}

func (s *Session) prompt(ctx context.Context, c *Call) (any, error) {
	sv := s.server
	sv.mu.Lock()
	i := slices.IndexFunc(sv.prompts, func(p Prompt) bool { return member(p.Definition, "name") == c.params.Name })
	var prompt Prompt
	if i >= 0 {
		prompt = sv.prompts[i]
	}
	sv.mu.Unlock()
	if i < 0 {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Unknown prompt: %s", c.params.Name)
	}
	return prompt.Get(ctx, c)
}

// mostValues is how many completions the protocol allows in one answer.
const mostValues = 100

func (s *Session) complete(p *params) (any, error) {
	sv := s.server
	sv.mu.Lock()
	var complete Completer
	switch p.Ref.Type {
	case "ref/prompt":
		if i := slices.IndexFunc(sv.prompts, func(q Prompt) bool { return member(q.Definition, "name") == p.Ref.Name }); i >= 0 {
			complete = sv.prompts[i].Complete
		}
	case "ref/resource":
		if i := slices.IndexFunc(sv.templates, func(t Template) bool { return member(t.Definition, "uriTemplate") == p.Ref.URI }); i >= 0 {
			complete = sv.templates[i].Complete
		}
	}
	sv.mu.Unlock()
	if complete == nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "nothing completes %s %s%s", p.Ref.Type, p.Ref.Name, p.Ref.URI)
	}
	values := complete(p.Argument.Name, p.Argument.Value, p.Context.Arguments)
	total := len(values)
	if total > mostValues {
		values = values[:mostValues]
	}
	if values == nil {
		values = []string{}
	}
	return map[string]any{"completion": map[string]any{
		"values": values, "total": total, "hasMore": total > len(values),
	}}, nil
}
