package access

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// A Grant says what its holder may see and do. An empty list binds nothing.
type Grant struct {
	// Schemas and Servers are patterns of names; * stands for any characters.
	Schemas []string `json:"schemas,omitempty"`
	Servers []string `json:"servers,omitempty"`
	// Tools are patterns of a tool's own name, or of a server and one of its
	// tools with a slash between them.
	Tools []string `json:"tools,omitempty"`
	// ReadOnly calls only tools that their server calls read-only.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Admin may change the configuration.
	Admin bool `json:"admin,omitempty"`
	// Mode and Fit say what its holder is shown, whatever the schema says.
	Mode string `json:"mode,omitempty"`
	Fit  string `json:"fit,omitempty"`
	// Code shows its holder run in the compact modes, whatever the schema
	// says. Results is the size above which it is shown results in part.
	Code    bool  `json:"code,omitempty"`
	Results int64 `json:"results,omitempty"`
	// Calls is how many calls its holder may make in a minute, whatever
	// limits.callsPerMinute says.
	Calls int `json:"calls,omitempty"`
}

// ways are what the mode and the fit of a grant may be: what the same keys of a
// schema may be.
var ways = map[string][]string{
	"mode": {"full", "compact", "search", "code", "auto"},
	"fit":  {"off", "auto", "claude", "cursor", "gemini", "openai", "vscode", "windsurf"},
}

// ParseScopes reads a grant from scopes as people write them: schema:NAME,
// server:NAME, tool:NAME, readonly, admin, mode:NAME, fit:NAME, code,
// results:SIZE, calls:N.
func ParseScopes(scopes []string) (Grant, error) {
	var g Grant
	for _, scope := range scopes {
		kind, pattern, bound := strings.Cut(scope, ":")
		list := map[string]*[]string{"schema": &g.Schemas, "server": &g.Servers, "tool": &g.Tools}[kind]
		switch {
		case list != nil && pattern != "":
			*list = append(*list, pattern)
		case kind == "mode" && slices.Contains(ways[kind], pattern):
			g.Mode = pattern
		case kind == "fit" && slices.Contains(ways[kind], pattern):
			g.Fit = pattern
		case ways[kind] != nil:
			return Grant{}, &ScopeError{Scope: scope, Kind: kind, Known: ways[kind]}
		case kind == "readonly" && !bound:
			g.ReadOnly = true
		case kind == "admin" && !bound:
			g.Admin = true
		case kind == "code" && !bound:
			g.Code = true
		case kind == "results" && bound:
			limit, ok := config.ParseSize(pattern)
			if !ok || limit <= 0 {
				return Grant{}, &ScopeError{Scope: scope, Kind: kind, Known: []string{"32KB", "1MB"}}
			}
			g.Results = limit
		case kind == "calls" && bound:
			n, err := strconv.Atoi(pattern)
			if err != nil || n <= 0 {
				return Grant{}, &ScopeError{Scope: scope, Kind: kind, Known: []string{"60", "1000"}}
			}
			g.Calls = n
		default:
			return Grant{}, &ScopeError{Scope: scope, Known: []string{"schema:NAME", "server:NAME", "tool:NAME", "readonly", "admin", "mode:NAME", "fit:NAME", "code", "results:SIZE", "calls:N"}}
		}
	}
	return g, nil
}

// A ScopeError is a scope that there is not.
type ScopeError struct {
	Scope string
	Kind  string   // set where only what follows it is wrong
	Known []string // what there is
}

func (e *ScopeError) Error() string { return e.In(i18n.English) }

// In says it in a language.
func (e *ScopeError) In(l i18n.Lang) string {
	known := strings.Join(e.Known, i18n.New(", ", "、").In(l))
	if e.Kind != "" {
		return i18n.New("scope %q: %s is one of %s", "范围 %q 无效，可用：%[3]s（%[2]s）", e.Scope, e.Kind, known).In(l)
	}
	return i18n.New("scope %q is none of %s", "范围 %q 无效，可用：%s", e.Scope, known).In(l)
}

// Scopes writes the grant the way ParseScopes reads it.
func (g Grant) Scopes() []string {
	var scopes []string
	for _, s := range g.Schemas {
		scopes = append(scopes, "schema:"+s)
	}
	for _, s := range g.Servers {
		scopes = append(scopes, "server:"+s)
	}
	for _, s := range g.Tools {
		scopes = append(scopes, "tool:"+s)
	}
	if g.ReadOnly {
		scopes = append(scopes, "readonly")
	}
	if g.Admin {
		scopes = append(scopes, "admin")
	}
	if g.Mode != "" {
		scopes = append(scopes, "mode:"+g.Mode)
	}
	if g.Fit != "" {
		scopes = append(scopes, "fit:"+g.Fit)
	}
	if g.Code {
		scopes = append(scopes, "code")
	}
	if g.Results > 0 {
		scopes = append(scopes, fmt.Sprintf("results:%dB", g.Results))
	}
	if g.Calls > 0 {
		scopes = append(scopes, fmt.Sprintf("calls:%d", g.Calls))
	}
	return scopes
}

func (g Grant) sees(schema, server, tool string) bool {
	if !matchesAny(g.Schemas, schema) {
		return false
	}
	if server == "" {
		return true
	}
	if !matchesAny(g.Servers, server) {
		return false
	}
	return len(g.Tools) == 0 || slices.ContainsFunc(g.Tools, func(pattern string) bool {
		if of, _, both := strings.Cut(pattern, "/"); tool == "" {
			return !both || matches(of, server) // any tool of the server
		}
		return matchesTool(pattern, server, tool)
	})
}

// matchesTool compares server and tool apart: a server's tool that it calls
// "fs/echo" is none of the server fs. The first slash of a pattern parts the
// two, so the name of a tool may have slashes of its own.
func matchesTool(pattern, server, tool string) bool {
	of, own, both := strings.Cut(pattern, "/")
	if !both {
		return matches(pattern, tool)
	}
	return matches(of, server) && matches(own, tool)
}

func matchesAny(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// Matches compares a name with a pattern of a grant.
func Matches(pattern, name string) bool { return matches(pattern, name) }

// matches compares a name with a pattern in which * stands for any characters.
func matches(pattern, name string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	if !strings.HasPrefix(name, head) {
		return false
	}
	name = name[len(head):]
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, part)
		}
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name, rest = name[at+len(part):], after
	}
}
