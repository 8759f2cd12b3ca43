package catalog

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/spelling"
)

// Naming is the way in which the names of a server's tools and prompts are
// listed.
type Naming uint8

const (
	// NamingPrefix lists tools as service__tool.
	NamingPrefix Naming = iota
	// NamingNone lists the server's own names unchanged.
	NamingNone
)

// Policy is the configuration of a server's features.
type Policy struct {
	Naming                    Naming
	Tools, Prompts, Resources Rules
	// Untyped reports the tools whose output schema is not listed; nil for
	// none.
	Untyped func(tool string) bool
}

// Rules decide which items are listed, and how. Patterns match the server's own
// names (URIs for resources): * is any text, ? is any one character.
type Rules struct {
	// Allow lists the visible items; empty means all. Deny overrides Allow.
	Allow, Deny []string
	// Items configures single items by their own name; it overrides the
	// patterns.
	Items map[string]Override
}

// Override is the configuration of one item.
type Override struct {
	// Enabled switches the item on or off; if nil, the patterns decide.
	Enabled *bool
	// Rename replaces the item's own name in the listed one.
	Rename string
	// Description replaces the item's own description.
	Description string
	// Arguments of a tool that the configuration sets or hides.
	Arguments map[string]Argument
}

// An Argument is the configuration of an argument of a tool.
type Argument struct {
	Hidden  bool   // it is not listed
	Default []byte // its value in calls that omit it; nil for none
}

// narrowed returns a tool as clients see it, with the configured arguments
// hidden or given defaults.
func narrowed(tool *Item, arguments map[string]Argument) *Item {
	schema := tool.InputSchema
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		switch a := arguments[name]; {
		case a.Hidden:
			schema = jsonrpc.Set(schema, nil, "properties", name)
		case a.Default != nil && bytes.HasPrefix(jsonrpc.Get(schema, "properties", name), []byte("{")):
			schema = jsonrpc.Set(schema, a.Default, "properties", name, "default")
		}
	}
	var required []string
	for _, name := range tool.Required {
		if a := arguments[name]; !a.Hidden && a.Default == nil {
			required = append(required, name)
		}
	}
	if len(required) < len(tool.Required) {
		var list []byte // nil removes the member: draft 4 forbids an empty list
		if len(required) > 0 {
			list, _ = json.Marshal(required) // never fails for strings
		}
		schema = jsonrpc.Set(schema, list, "required")
	}
	item := newItem(Tools, jsonrpc.Set(tool.Raw, schema, "inputSchema"))
	return &item
}

// UnknownArguments returns an issue for each of the configured arguments that a
// tool does not have.
func UnknownArguments[V any](tool *Item, configured map[string]V) []Issue {
	var names []string
	for name := range jsonrpc.Members(jsonrpc.Get(tool.InputSchema, "properties")) {
		names = append(names, name)
	}
	var issues []Issue
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		if slices.Contains(names, name) || takesOthers(tool.InputSchema) {
			continue
		}
		detail := i18n.New("tools.%s.arguments.%s is wrong: the tool has no argument of that name", "tools.%s.arguments.%s 有误：该工具没有这个名称的参数", tool.Key, name)
		if near := spelling.Nearest(name, names); near != "" {
			detail = i18n.New("%v; did you mean %s?", "%v；是否指 %s？", detail, near)
		}
		issues = append(issues, Issue{Item: tool.Key, Detail: detail})
	}
	return issues
}

// takesOthers reports whether a schema allows arguments that its properties do
// not name, and says so.
func takesOthers(schema []byte) bool {
	others := jsonrpc.Get(schema, "additionalProperties")
	return len(others) > 0 && others[0] != 'f' ||
		slices.ContainsFunc([]string{"patternProperties", "$ref", "allOf", "anyOf", "oneOf"}, func(member string) bool { return jsonrpc.Get(schema, member) != nil })
}

func (p *Policy) rules(k Kind) *Rules {
	return [...]*Rules{&p.Tools, &p.Prompts, &p.Resources, &p.Resources}[k]
}

// lists reports whether the item with the given name is visible.
func (r *Rules) lists(name string) bool {
	if o, ok := r.Items[name]; ok && o.Enabled != nil {
		return *o.Enabled
	}
	if matchAny(r.Deny, name) {
		return false
	}
	return len(r.Allow) == 0 || matchAny(r.Allow, name)
}

// Lists reports whether the configuration allows clients to see and use an item
// of a server.
func (n *namespace) Lists(server string, k Kind, name string) bool {
	i, ok := n.servers[server]
	return ok && n.sources[i].Policy.rules(k).lists(name)
}

func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return Match(p, name) })
}

// Match reports whether the whole name matches the pattern, in which * matches
// any text and ? any one character.
func Match(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	i, j := 0, 0
	star, resume := -1, 0
	for j < len(n) {
		switch {
		case i < len(p) && p[i] == '*':
			star, resume = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == n[j]):
			i++
			j++
		case star >= 0:
			resume++
			i, j = star+1, resume
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
