package access

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/config/units"
	"mcp-all-in-one/internal/i18n"
)

// A Grant says what its holder may see and do. An empty list means no
// restriction.
type Grant struct {
	// Schemas and Servers are patterns of names; * stands for any characters.
	Schemas []string `json:"schemas,omitempty"`
	Servers []string `json:"servers,omitempty"`
	// Tools are patterns of a tool's own name, or of server/tool.
	Tools []string `json:"tools,omitempty"`
	// ReadOnly restricts calls to tools that their server declares read-only.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Admin allows changes of the configuration.
	Admin bool `json:"admin,omitempty"`
	// Mode and Fit override the settings of the schema for this holder.
	Mode string `json:"mode,omitempty"`
	Fit  string `json:"fit,omitempty"`
	// Code enables the run tool in the compact modes, whatever the schema says.
	// Results is the size above which results are shown in part.
	Code    bool  `json:"code,omitempty"`
	Results int64 `json:"results,omitempty"`
	// Calls is how many calls per minute are allowed. It overrides
	// limits.callsPerMinute.
	Calls int `json:"calls,omitempty"`
}

// ways are the valid values of mode and fit: the same as for a schema.
var ways = map[string][]string{
	"mode": {"full", "compact", "search", "code", "auto"},
	"fit":  {"off", "auto", "claude", "cursor", "gemini", "openai", "vscode", "windsurf"},
}

// Scopes are the forms of the scopes of a grant.
var Scopes = []string{"schema:NAME", "server:NAME", "tool:NAME", "readonly", "admin", "mode:NAME", "fit:NAME", "code", "results:SIZE", "calls:N"}

// ParseScopes parses the scopes of a grant.
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
			limit, err := units.Size(pattern)
			if err != nil || limit <= 0 {
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
			return Grant{}, &ScopeError{Scope: scope, Known: Scopes}
		}
	}
	return g, nil
}

// A ScopeError is the error for an invalid scope.
type ScopeError struct {
	Scope string
	Kind  string   // set if only the value after the colon is invalid
	Known []string // the valid ones
}

func (e *ScopeError) Error() string { return e.In(i18n.English) }

// In returns the message in the given language.
func (e *ScopeError) In(l i18n.Lang) string {
	known := strings.Join(e.Known, i18n.New(", ", "、").In(l))
	if e.Kind != "" {
		return i18n.New("scope %q: %s must be one of %s", "范围 %q 无效，可用：%[3]s（%[2]s）", e.Scope, e.Kind, known).In(l)
	}
	return i18n.New("unknown scope %q; valid: %s", "范围 %q 无效，可用：%s", e.Scope, known).In(l)
}

// Scopes returns the grant in the form that ParseScopes accepts.
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

// equal reports whether two grants are the same, scope by scope.
func (g *Grant) equal(other *Grant) bool {
	return slices.Equal(g.Schemas, other.Schemas) && slices.Equal(g.Servers, other.Servers) && slices.Equal(g.Tools, other.Tools) &&
		g.ReadOnly == other.ReadOnly && g.Admin == other.Admin && g.Mode == other.Mode && g.Fit == other.Fit &&
		g.Code == other.Code && g.Results == other.Results && g.Calls == other.Calls
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

// matchesTool compares server and tool separately: a tool named "fs/echo" of
// another server does not belong to the server fs. The first slash of a pattern
// separates the two, so the name of a tool may contain slashes.
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

// Matches reports whether a name matches a pattern of a grant.
func Matches(pattern, name string) bool { return matches(pattern, name) }

// matches reports whether a name matches a pattern in which * stands for any
// characters.
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
