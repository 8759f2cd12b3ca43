package config

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/secrets"
)

// resolver knows what the variables of a file stand for.
type resolver struct {
	lookup  func(string) (string, bool)
	home    string
	work    string // ${workspaceFolder}
	base    string // the directory that ${file:...} starts from
	secrets secrets.Store
	// asWritten looks nothing up: every variable stays as it is written. That
	// is how an entry is read that nobody has approved.
	asWritten bool
}

// references are the variables that a part of a file mentions.
type references struct {
	missing []string
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// expand returns a copy of n with the variables of every string replaced.
// What a variable holds is taken literally: it is not searched again.
func (r *resolver) expand(n *document.Node, refs *references) *document.Node {
	c := *n
	switch n.Kind {
	case document.KindString:
		text, found, missing := r.text(n.Text)
		if len(found) > 0 || text != n.Text {
			c.Text, c.Raw, c.Expanded, c.Unresolved = text, n.Text, true, len(missing) > 0 || r.asWritten && len(found) > 0
		}
		refs.missing = appendNew(refs.missing, missing...)
	case document.KindArray:
		c.Items = make([]*document.Node, len(n.Items))
		for i, v := range n.Items {
			c.Items[i] = r.expand(v, refs)
		}
	case document.KindObject:
		c.Members = make([]document.Member, len(n.Members))
		for i, m := range n.Members {
			c.Members[i] = document.Member{Pos: m.Pos, Key: m.Key, Value: r.expand(m.Value, refs)}
		}
	}
	return &c
}

// asWritten looks nothing up.
var asWritten = &resolver{asWritten: true}

// placeholders returns the variables that the strings below n mention.
func placeholders(n *document.Node) []string {
	if n == nil {
		return nil
	}
	var names []string
	if n.Kind == document.KindString {
		_, found, _ := asWritten.text(n.Text)
		names = appendNew(names, found...)
	}
	for _, v := range n.Items {
		names = appendNew(names, placeholders(v)...)
	}
	for _, m := range n.Members {
		names = appendNew(names, placeholders(m.Value)...)
	}
	return names
}

// text replaces the variables of one string. One that is not defined stays
// as it is written and is named in missing. $${ is a literal ${, and what
// does not look like a variable is left alone.
func (r *resolver) text(s string) (out string, found, missing []string) {
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
	varWritten // one that is not looked up
)

// variable resolves what stands between ${ and }.
func (r *resolver) variable(inner string) (value, name string, state varState) {
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
	if !variableName.MatchString(name) {
		return "", "", varLiteral
	}
	if r.asWritten {
		return "", name, varWritten
	}
	if v, ok := r.lookup(name); ok && (v != "" || !hasDef) {
		return v, name, varDefined
	}
	switch {
	case hasDef:
		return def, name, varDefined
	case name == "userHome" && r.home != "":
		return r.home, name, varDefined
	case name == "workspaceFolder" && r.work != "":
		return r.work, name, varDefined
	}
	return "", name, varMissing
}

// stored resolves what is kept elsewhere than in the environment.
func (r *resolver) stored(source, key string) (value string, state varState) {
	var err error
	switch {
	case r.asWritten:
		return "", varWritten
	case source == "file":
		value, err = r.file(key)
	case source == "secret" && r.secrets != nil:
		value, err = r.secrets.Get(key)
	default:
		return "", varMissing
	}
	if err != nil {
		return "", varMissing
	}
	return value, varDefined
}

func (r *resolver) file(path string) (string, error) {
	data, _, err := disk.Read(disk.From(r.base, expandHome(path, r.home)), maxSecretFile)
	return strings.TrimRight(string(data), "\r\n"), err
}

// appendNew appends what is not there yet.
func appendNew(list []string, names ...string) []string {
	for _, n := range names {
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// expandHome replaces a leading ~.
func expandHome(path, home string) string {
	if home == "" || (path != "~" && !strings.HasPrefix(path, "~/") && !strings.HasPrefix(path, `~\`)) {
		return path
	}
	return filepath.Join(home, path[1:])
}
