package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// features are the features of a server; they answer requests about themselves.
type features struct {
	mu         sync.Mutex
	tools      []Tool
	resources  []Resource
	templates  []Template
	prompts    []Prompt
	extensions []Extension
}

// answer answers the methods that both eras have.
func (f *features) answer(ctx context.Context, c *Call, method string) (any, error) {
	switch method {
	case mcp.MethodToolsList, mcp.MethodResourcesList, mcp.MethodTemplatesList, mcp.MethodPromptsList:
		return f.list(method, c.params.Cursor, c.server.PageSize)
	case mcp.MethodToolsCall:
		return f.callTool(ctx, c)
	case mcp.MethodResourcesRead:
		return f.read(ctx, c)
	case mcp.MethodPromptsGet:
		return f.prompt(ctx, c)
	case mcp.MethodComplete:
		return f.complete(c.params)
	}
	if run := f.extensionMethod(method); run != nil {
		return run(ctx, c)
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method not found: %s", method)
}

func (f *features) list(method string, cursor *string, pageSize int) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var name string
	var items []json.RawMessage
	switch method {
	case mcp.MethodToolsList:
		name, items = "tools", definitions(f.tools, func(t Tool) string { return t.Definition })
	case mcp.MethodResourcesList:
		name, items = "resources", definitions(f.resources, func(r Resource) string { return r.Definition })
	case mcp.MethodTemplatesList:
		name, items = "resourceTemplates", definitions(f.templates, func(t Template) string { return t.Definition })
	default:
		name, items = "prompts", definitions(f.prompts, func(p Prompt) string { return p.Definition })
	}
	page, next, err := paginate(items, cursor, pageSize)
	if err != nil {
		return nil, err
	}
	result := map[string]any{name: page}
	if next != "" {
		result["nextCursor"] = next
	}
	return result, nil
}

func (f *features) callTool(ctx context.Context, c *Call) (any, error) {
	f.mu.Lock()
	i := slices.IndexFunc(f.tools, func(t Tool) bool { return member(t.Definition, "name") == c.params.Name })
	var tool Tool
	if i >= 0 {
		tool = f.tools[i]
	}
	f.mu.Unlock()
	if i < 0 {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Unknown tool: %s", c.params.Name)
	}
	if c.server.OnCall != nil {
		c.server.OnCall(c.params.Name, c.Arguments)
	}
	return tool.Run(ctx, c)
}

func (f *features) read(ctx context.Context, c *Call) (any, error) {
	uri := c.params.URI
	f.mu.Lock()
	var read func(context.Context, *Call, string) (any, error)
	if i := slices.IndexFunc(f.resources, func(r Resource) bool { return member(r.Definition, "uri") == uri }); i >= 0 {
		read = f.resources[i].Read
	} else if i := slices.IndexFunc(f.templates, func(t Template) bool { return t.matches(uri) }); i >= 0 {
		read = f.templates[i].Read
	}
	f.mu.Unlock()
	if read == nil {
		code := int64(mcp.CodeResourceNotFound)
		if c.modern {
			code = jsonrpc.CodeInvalidParams
		}
		return nil, jsonrpc.Errorf(code, "Resource not found: %s", uri).WithData(map[string]string{"uri": uri})
	}
	return read(ctx, c, uri)
}

func (f *features) prompt(ctx context.Context, c *Call) (any, error) {
	f.mu.Lock()
	i := slices.IndexFunc(f.prompts, func(p Prompt) bool { return member(p.Definition, "name") == c.params.Name })
	var prompt Prompt
	if i >= 0 {
		prompt = f.prompts[i]
	}
	f.mu.Unlock()
	if i < 0 {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Unknown prompt: %s", c.params.Name)
	}
	return prompt.Get(ctx, c)
}

func definitions[T any](features []T, definition func(T) string) []json.RawMessage {
	list := make([]json.RawMessage, len(features))
	for i, f := range features {
		list[i] = json.RawMessage(definition(f))
	}
	return list
}

func paginate(items []json.RawMessage, cursor *string, size int) (page []json.RawMessage, next string, err error) {
	start := 0
	if cursor != nil {
		raw, err := base64.RawURLEncoding.DecodeString(*cursor)
		if err == nil {
			start, err = strconv.Atoi(string(raw))
		}
		if err != nil || start < 0 || start > len(items) {
			return nil, "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "invalid cursor: %s", *cursor)
		}
	}
	end := len(items)
	if size > 0 && start+size < end {
		end = start + size
		next = base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(end)))
	}
	return items[start:end], next, nil
}

// mostValues is the maximum number of completions that the protocol allows in
// one answer.
const mostValues = 100

func (f *features) complete(p *params) (any, error) {
	f.mu.Lock()
	var complete Completer
	switch p.Ref.Type {
	case "ref/prompt":
		if i := slices.IndexFunc(f.prompts, func(q Prompt) bool { return member(q.Definition, "name") == p.Ref.Name }); i >= 0 {
			complete = f.prompts[i].Complete
		}
	case "ref/resource":
		if i := slices.IndexFunc(f.templates, func(t Template) bool { return member(t.Definition, "uriTemplate") == p.Ref.URI }); i >= 0 {
			complete = f.templates[i].Complete
		}
	}
	f.mu.Unlock()
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
