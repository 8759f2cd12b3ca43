package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/catalog/signature"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
)

// The modes of a schema.
const (
	ModeFull    = "full"
	ModeCompact = "compact"
	ModeSearch  = "search"
	ModeCode    = "code" // compact with scripts
	ModeAuto    = "auto"
)

// maxOutline bounds the catalogue in the description of inspect.
const maxOutline = 16 << 10

// NamesAll reports whether the descriptions in compact mode name every tool. If
// they do not, tools are only found by searching.
func NamesAll(all *catalog.Catalog, view catalog.View) bool {
	return all.OutlineNames(view, maxOutline)
}

// Compact returns the tools that represent all tools of a schema in the compact
// modes; nil if the schema shows its tools directly. view is the caller's view.
// code adds run, reading adds read.
func Compact(mode string, all *catalog.Catalog, view catalog.View, cfg *config.Config, code, reading bool) *Set {
	c := compact{types: cfg.Compact.Types, code: code || mode == ModeCode}
	var outline string
	switch mode {
	case ModeCompact, ModeCode:
		outline = all.Outline(view, maxOutline)
	case ModeSearch:
		c.search = true
		outline = serverOutline(all, view)
	default:
		return nil
	}
	tools := []Tool{c.inspectTool(outline), c.execTool()}
	if c.code {
		tools = append(tools, c.runTool())
	}
	if c.code || reading {
		tools = append(tools, ReadTool(ReadName))
	}
	for i := range tools {
		tools[i].Compact = true
	}
	return NewSet(tools)
}

// compact configures inspect and exec of one schema.
type compact struct{ search, types, code bool }

// serverOutline lists the servers with their number of tools. The tools are
// found by searching.
func serverOutline(all *catalog.Catalog, view catalog.View) string {
	var b strings.Builder
	b.WriteString("Available servers:")
	for _, s := range all.Servers(view) {
		fmt.Fprintf(&b, "\n  %s (%d tools)", s.Name, s.Tools)
	}
	return b.String()
}

func (c compact) inspectTool(outline string) Tool {
	about := "Inspect available MCP tools and their schemas.\n\n"
	properties := `"server_name":{"type":"string","description":"Name of the server"},"tool_name":{"type":"string","description":"Name of the tool; without it all tools of the server are listed"}`
	required := `["server_name"]`
	if c.search {
		about = "Find MCP tools by what they do, and inspect their schemas. Give a query, or a server_name with or without a tool_name.\n\n"
		properties = `"query":{"type":"string","description":"What the tool should do, in English or Chinese"},` + properties
		required = `[]`
	}
	definition := fmt.Sprintf(`{"name":"inspect","description":%s,"inputSchema":{"type":"object","properties":{%s},"required":%s}}`,
		jsonrpc.Quote(about+outline), properties, required)
	return Tool{Name: "inspect", Definition: []byte(definition), Run: c.inspect}
}

func (c compact) execTool() Tool {
	const definition = `{"name":"exec","description":"Execute an MCP tool. Use inspect first to learn its parameters.","inputSchema":{"type":"object","properties":{` +
		`"server_name":{"type":"string","description":"Name of the server"},"tool_name":{"type":"string","description":"Name of the tool"},` +
		`"arguments":{"type":"object","description":"Arguments of the tool","additionalProperties":true}},"required":["server_name","tool_name"]}}`
	return Tool{Name: ExecName, Definition: []byte(definition), Run: c.exec}
}

// inspected is a tool as inspect shows it.
type inspected struct {
	Server      string          `json:"server_name"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

func (c compact) inspect(_ context.Context, env *Env, args []byte) (*jsonrpc.Response, error) {
	view, all := catalog.View{Visible: env.Visible}, env.Catalog()
	server, hasServer := jsonrpc.GetString(args, "server_name")
	tool, hasTool := jsonrpc.GetString(args, "tool_name")
	if query, ok := jsonrpc.GetString(args, "query"); ok && c.search && query != "" {
		return c.shown(all, c.found(all, query, view)), nil
	}
	if !hasServer || server == "" {
		needs := "server_name is required"
		if c.search {
			needs = "server_name or query is required"
		}
		return failure(map[string]any{"error": needs, "available_servers": serverNames(env, view)}), nil
	}
	if !knows(env, view, server) {
		return failure(map[string]any{"error": fmt.Sprintf("Server '%s' not found", server), "available_servers": serverNames(env, view)}), nil
	}
	if !hasTool || tool == "" {
		return c.shown(all, all.ToolsOf(server, view)), nil
	}
	ref, miss := all.ToolOf(server, tool, env.Visible)
	if miss != nil {
		return failure(map[string]any{
			"error": fmt.Sprintf("Tool '%s' not found on server '%s'", tool, server), "available_tools": toolNames(env, view, server),
		}), nil
	}
	if c.code {
		return declarations(all, []catalog.Ref{ref}), nil
	}
	return textResult(c.show(all, ref)), nil
}

// shown returns tools as inspect lists them: with run as declarations for
// scripts, otherwise as JSON.
func (c compact) shown(all *catalog.Catalog, refs []catalog.Ref) *jsonrpc.Response {
	if c.code {
		return declarations(all, refs)
	}
	list := []inspected{}
	for _, ref := range refs {
		list = append(list, c.show(all, ref))
	}
	return textResult(list)
}

// declarations returns tools as TypeScript declarations for scripts.
func declarations(all *catalog.Catalog, refs []catalog.Ref) *jsonrpc.Response {
	var b strings.Builder
	open := ""
	for _, ref := range refs {
		if ref.Server != open {
			if open != "" {
				b.WriteString("}\n")
			}
			open = ref.Server
			fmt.Fprintf(&b, "declare namespace tools.%s {\n", catalog.Identifier(ref.Server))
		}
		name := catalog.Identifier(ref.Beside)
		declared := catalog.Declaration(ref.Item, name, all.About(ref))
		if name != ref.Beside || catalog.Identifier(ref.Server) != ref.Server {
			declared += fmt.Sprintf(" // %s of %s", ref.Beside, ref.Server)
		}
		b.WriteString("  " + strings.ReplaceAll(declared, "\n", "\n  ") + "\n")
	}
	if open != "" {
		b.WriteString("}")
	}
	return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"content":[%s],"isError":false}`, textBlock(b.String()))}
}

const maxFound = 20

// found returns the tools that match a query, best first.
func (c compact) found(all *catalog.Catalog, query string, view catalog.View) []catalog.Ref {
	var list []catalog.Ref
	for _, hit := range all.Search(query, view, maxFound) {
		list = append(list, hit.Ref)
	}
	return list
}

// show returns a tool with its whole schema. If requested and equivalent, the
// schema is shorter TypeScript types.
func (c compact) show(all *catalog.Catalog, ref catalog.Ref) inspected {
	it := inspected{Server: ref.Server, Name: ref.Beside, Description: all.About(ref), InputSchema: ref.Item.InputSchema}
	if c.types {
		if ts, ok := signature.Of(ref.Item.InputSchema); ok {
			it.InputSchema = jsonrpc.Quote(ts)
		}
	}
	if len(it.InputSchema) == 0 {
		it.InputSchema = json.RawMessage(`{}`)
	}
	return it
}

func knows(env *Env, view catalog.View, server string) bool {
	return slices.ContainsFunc(env.Catalog().Servers(view), func(s catalog.ServerInfo) bool { return s.Name == server })
}

func serverNames(env *Env, view catalog.View) []string {
	names := []string{}
	for _, s := range env.Catalog().Servers(view) {
		names = append(names, s.Name)
	}
	return names
}

func toolNames(env *Env, view catalog.View, server string) []string {
	names := []string{}
	for _, ref := range env.Catalog().ToolsOf(server, view) {
		names = append(names, ref.Beside)
	}
	return names
}
