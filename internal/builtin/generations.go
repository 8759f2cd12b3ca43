package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
)

// The names that the compact tools have had: those of the first generation,
// and of two later ones that address a tool as server.tool.
const (
	NamesInspect  = "inspect"
	NamesDescribe = "describe"
	NamesInvoke   = "invoke"
)

// later are the tools of the later generations.
func (c compact) later(names, outline string) []Tool {
	describe := c.describeTool(outline)
	if names == NamesDescribe {
		return []Tool{describe, c.callTool("call", "Call an MCP tool. Use describe first to learn its parameters."), c.readTool("resources")}
	}
	tools := []Tool{c.callTool("invoke", "Invoke an MCP tool.\n\n"+outline), c.readTool("read")}
	if c.search {
		tools = append([]Tool{describe}, tools...)
	}
	return tools
}

func (c compact) describeTool(outline string) Tool {
	about := "Describe available MCP tools and their schemas: those of a server, or one as server.tool.\n\n"
	properties := `"method":{"type":"string","description":"server, or server.tool"}`
	required := `["method"]`
	if c.search {
		about = "Find MCP tools by what they do, and describe them. Give a query, or a method: server, or server.tool.\n\n"
		properties = `"query":{"type":"string","description":"What the tool should do, in English or Chinese"},` + properties
		required = `[]`
	}
	return Tool{Name: "describe", Run: c.describe, Definition: fmt.Appendf(nil,
		`{"name":"describe","description":%s,"inputSchema":{"type":"object","properties":{%s},"required":%s}}`, jsonrpc.Quote(about+outline), properties, required)}
}

func (c compact) callTool(name, about string) Tool {
	return Tool{Name: name, Run: c.call, Definition: fmt.Appendf(nil, `{"name":%q,"description":%s,"inputSchema":{"type":"object","properties":{`+
		`"method":{"type":"string","description":"server.tool"},`+
		`"arguments":{"type":"object","description":"Arguments of the tool","additionalProperties":true}},"required":["method"]}}`, name, jsonrpc.Quote(about))}
}

func (c compact) readTool(name string) Tool {
	return Tool{Name: name, Run: c.read, Definition: fmt.Appendf(nil, `{"name":%q,"description":"Read a resource of an MCP server.","inputSchema":{"type":"object","properties":{`+
		`"server_name":{"type":"string","description":"Name of the server"},"uri":{"type":"string","description":"URI of the resource"}},"required":["server_name","uri"]}}`, name)}
}

// coded is a failure of the later generations.
func coded(code, format string, args ...any) map[string]any {
	return map[string]any{"error": fmt.Sprintf(format, args...), "code": code}
}

func noServer(env *Env, view catalog.View, server string) *jsonrpc.Response {
	body := coded("SERVER_NOT_FOUND", "Server '%s' not found", server)
	if names := serverNames(env, view); len(names) > 0 {
		body["available_servers"] = names
	} else {
		body["hint"] = "No MCP servers are currently connected"
	}
	return failure(body)
}

func noTool(env *Env, view catalog.View, server, tool string) *jsonrpc.Response {
	body := coded("TOOL_NOT_FOUND", "Tool '%s' not found on server '%s'", tool, server)
	body["available_tools"] = toolNames(env, view, server)
	return failure(body)
}

// split finds the server and the tool in server.tool. Both may hold dots: the
// longest server that is known counts.
func split(env *Env, view catalog.View, method string) (server, tool string, ok bool) {
	for i := len(method) - 1; i > 0; i-- {
		if method[i] == '.' && knows(env, view, method[:i]) {
			return method[:i], method[i+1:], true
		}
	}
	return strings.Cut(method, ".")
}

func (c compact) describe(_ context.Context, env *Env, args []byte) (*jsonrpc.Response, error) {
	view := catalog.View{Visible: env.Visible}
	if query, ok := jsonrpc.GetString(args, "query"); ok && c.search && query != "" {
		return c.found(env, query, view), nil
	}
	method, _ := jsonrpc.GetString(args, "method")
	if knows(env, view, method) {
		return textResult(c.toolsOf(env, view, method)), nil
	}
	server, tool, ok := split(env, view, method)
	if !ok || !knows(env, view, server) {
		return noServer(env, view, server), nil
	}
	ref, miss := env.Catalog.ToolOf(server, tool, env.Visible)
	if miss != nil {
		return noTool(env, view, server, tool), nil
	}
	return textResult(c.show(ref)), nil
}

// call calls server.tool. Its result passes as it is.
func (c compact) call(ctx context.Context, env *Env, args []byte) (*jsonrpc.Response, error) {
	view := catalog.View{Visible: env.Visible}
	method, _ := jsonrpc.GetString(args, "method")
	server, tool, ok := split(env, view, method)
	if !ok || server == "" || tool == "" {
		return failure(map[string]any{"error": fmt.Sprintf("Invalid method format: '%s'. Expected 'server.tool'", method)}), nil
	}
	if !knows(env, view, server) {
		return noServer(env, view, server), nil
	}
	ref, miss := env.Catalog.ToolOf(server, tool, env.Visible)
	if miss != nil {
		return noTool(env, view, server, tool), nil
	}
	inner, ok := argumentsOf(args)
	if !ok {
		return failure(coded("VALIDATION_ERROR", "%s", badArguments)), nil
	}
	resp, err := env.Call(ctx, ref.Server, ref.Name, inner)
	var wrong catalog.Violations
	switch {
	case ctx.Err() != nil:
		return resp, err
	case errors.As(err, &wrong) && len(wrong) > 0:
		body := coded("VALIDATION_ERROR", "%s", wrong)
		body["tool_schema"] = c.show(ref).InputSchema
		return failure(body), nil
	case err != nil:
		return failure(coded("EXECUTION_ERROR", "%s", messageOf(err))), nil
	case resp.Err != nil:
		return failure(coded("EXECUTION_ERROR", "%s", resp.Err.Message)), nil
	}
	return c.finish(resp, server, tool), nil
}

// read reads a resource: the text of one, what else there is as JSON.
func (c compact) read(ctx context.Context, env *Env, args []byte) (*jsonrpc.Response, error) {
	view := catalog.View{Visible: env.Visible}
	server, _ := jsonrpc.GetString(args, "server_name")
	uri, _ := jsonrpc.GetString(args, "uri")
	if !knows(env, view, server) {
		return noServer(env, view, server), nil
	}
	resp, err := env.Read(ctx, server, uri)
	switch {
	case ctx.Err() != nil:
		return resp, err
	case err != nil:
		return failure(coded("EXECUTION_ERROR", "%s", messageOf(err))), nil
	case resp.Err != nil:
		return failure(coded("RESOURCE_NOT_FOUND", "%s", resp.Err.Message)), nil
	}
	var parts []any
	for raw := range jsonrpc.Elements(orArray(jsonrpc.Get(resp.Result, "contents"))) {
		if text, ok := jsonrpc.GetString(raw, "text"); ok {
			parts = append(parts, text)
			continue
		}
		parts = append(parts, map[string]any{
			"uri": json.RawMessage(orNull(jsonrpc.Get(raw, "uri"))), "mime_type": json.RawMessage(orNull(jsonrpc.Get(raw, "mimeType"))),
			"blob": json.RawMessage(orNull(jsonrpc.Get(raw, "blob"))),
		})
	}
	if len(parts) != 1 {
		return textResult(parts), nil
	}
	if text, ok := parts[0].(string); ok {
		return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"isError":false}`, jsonrpc.Quote(text))}, nil
	}
	return textResult(parts[0]), nil
}

func orNull(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}
