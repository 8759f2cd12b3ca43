// Package variable replaces the variables in the texts of a file: ${NAME},
// ${file:…}, ${secret:…}.
package variable

import (
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/lazy"
	"mcp-all-in-one/internal/secrets"
)

// maxSecretFile is the maximum size of a file that ${file:...} reads.
const maxSecretFile = 1 << 20

// Resolver resolves the variables of a file.
type Resolver struct {
	Lookup  func(string) (string, bool)
	Home    string
	Work    string // ${workspaceFolder}
	Base    string // base directory of ${file:...}
	Secrets secrets.Store
	// AsWritten resolves nothing: every variable stays as it is written.
	// Entries that are not approved are read this way.
	AsWritten bool
}

// References collects the undefined variables of a part of a file.
type References struct {
	Missing []string
}

var variableName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// Expand returns a copy of n with the variables of every string replaced. The
// value of a variable is taken literally: variables in it are not replaced. The
// members of n that are listed in besides stay as they are.
func (r *Resolver) Expand(n *document.Node, refs *References, besides ...string) *document.Node {
	c := *n
	switch n.Kind {
	case document.KindString:
		text, found, missing := r.Text(n.Text)
		if len(found) > 0 || text != n.Text {
			c.Text, c.Raw, c.Expanded, c.Unresolved = text, n.Text, true, len(missing) > 0 || r.AsWritten && len(found) > 0
		}
		refs.Missing = appendNew(refs.Missing, missing...)
	case document.KindArray:
		c.Items = make([]*document.Node, len(n.Items))
		for i, v := range n.Items {
			c.Items[i] = r.Expand(v, refs)
		}
	case document.KindObject:
		c.Members = make([]document.Member, len(n.Members))
		for i, m := range n.Members {
			c.Members[i] = m
			if !slices.Contains(besides, m.Key) {
				c.Members[i].Value = r.Expand(m.Value, refs)
			}
		}
	}
	return &c
}

// AsWritten resolves nothing.
var AsWritten = &Resolver{AsWritten: true}

// Names returns the variables in the strings of the nodes.
func Names(nodes ...*document.Node) []string {
	var names []string
	for _, n := range nodes {
		if n == nil {
			continue
		}
		if n.Kind == document.KindString {
			_, found, _ := AsWritten.Text(n.Text)
			names = appendNew(names, found...)
		}
		names = appendNew(names, Names(n.Items...)...)
		for _, m := range n.Members {
			names = appendNew(names, Names(m.Value)...)
		}
	}
	return names
}

// Text replaces the variables of one string. An undefined variable stays as it
// is written and is added to missing. $${ is a literal ${, and text that does
// not look like a variable is kept.
func (r *Resolver) Text(s string) (out string, found, missing []string) {
	if !strings.Contains(s, "${") {
		return s, nil, nil
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			break
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			break
		}
		inner, rest := s[i+2:i+end], s[i+end+1:]
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${" + inner + "}")
			s = rest
			continue
		}
		b.WriteString(s[:i])
		value, name, state := r.variable(inner)
		if name != "" {
			found = appendNew(found, name)
		}
		if state == varMissing {
			missing = appendNew(missing, name)
		}
		if state == varDefined {
			b.WriteString(value)
		} else {
			b.WriteString("${" + inner + "}")
		}
		s = rest
	}
	b.WriteString(s)
	return b.String(), found, missing
}

type varState uint8

const (
	varLiteral varState = iota // not a variable at all
	varDefined
	varMissing
	varWritten // not resolved because of AsWritten
)

// variable resolves the text between ${ and }.
func (r *Resolver) variable(inner string) (value, name string, state varState) {
	source, rest, ok := strings.Cut(inner, ":")
	if ok && !strings.HasPrefix(rest, "-") {
		switch source {
		case "file", "secret", "input":
			value, state = r.stored(source, rest)
			return value, inner, state
		case "env":
			inner = rest
		default:
			return "", "", varLiteral
		}
	}
	name, def, hasDef := strings.Cut(inner, ":-")
	if !variableName().MatchString(name) {
		return "", "", varLiteral
	}
	if r.AsWritten {
		return "", name, varWritten
	}
	if v, ok := r.Lookup(name); ok && (v != "" || !hasDef) {
		return v, name, varDefined
	}
	switch {
	case hasDef:
		return def, name, varDefined
	case name == "userHome" && r.Home != "":
		return r.Home, name, varDefined
	case name == "workspaceFolder" && r.Work != "":
		return r.Work, name, varDefined
	}
	return "", name, varMissing
}

// stored resolves a variable that is not in the environment.
func (r *Resolver) stored(source, key string) (value string, state varState) {
	var err error
	switch {
	case r.AsWritten:
		return "", varWritten
	case source == "file":
		value, err = r.File(key)
	case source == "secret" && r.Secrets != nil:
		value, err = r.Secrets.Get(key)
	default:
		return "", varMissing
	}
	if err != nil {
		return "", varMissing
	}
	return value, varDefined
}

func (r *Resolver) File(path string) (string, error) {
	data, _, err := disk.Read(disk.From(r.Base, disk.ExpandHome(path, r.Home)), maxSecretFile)
	return strings.TrimRight(string(data), "\r\n"), err
}

// appendNew appends the names that are not in the list yet.
func appendNew(list []string, names ...string) []string {
	for _, n := range names {
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}
