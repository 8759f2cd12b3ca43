// Package document parses a config file, JSON with comments or YAML, into a
// tree of values with positions, and changes the text without losing comments
// or layout.
package document

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// A Kind is the type of a value.
type Kind uint8

const (
	KindNull Kind = iota
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
)

func (k Kind) String() string { return k.In(i18n.English) }

// In returns the name of the kind in a language.
func (k Kind) In(l i18n.Lang) string { return kindNames[k].In(l) }

var kindNames = [...]i18n.Text{
	i18n.Plain("null"), i18n.New("a boolean", "布尔值"), i18n.New("a number", "数字"), i18n.New("a string", "字符串"),
	i18n.New("a list", "数组"), i18n.New("an object", "对象"),
}

// Node is one value of a file in either format, with its position.
type Node struct {
	problem.Pos
	Kind    Kind
	Text    string // the text of a string; a number or boolean in JSON form
	Raw     string // a scalar as it is written in the file
	Items   []*Node
	Members []Member

	Expanded   bool // Text had variables; Raw is the text as written
	Unresolved bool // at least one variable is not resolved
	Kept       bool // the draft had [REDACTED] here, so the value in the file is kept
}

// Member is one key of an object.
type Member struct {
	problem.Pos // position of the key
	Key         string
	Value       *Node
}

// Get returns the value of that key, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Key == key {
			return n.Members[i].Value
		}
	}
	return nil
}

// Add adds a member to an object.
func (n *Node) Add(key string, v *Node) { n.Members = append(n.Members, Member{Key: key, Value: v}) }

// Has reports whether n is an object with that key.
func (n *Node) Has(key string) bool { return n.Get(key) != nil }

// With returns a shallow copy of the object with those members.
func (n *Node) With(members []Member) *Node {
	c := *n
	c.Members = members
	return &c
}

// At follows a path of keys and indexes. It returns nil if there is no such
// value.
func (n *Node) At(path []Step) *Node {
	for _, s := range path {
		if n == nil {
			return nil
		}
		if s.IsKey {
			n = n.Get(s.Key)
			continue
		}
		if s.Index < 0 || s.Index >= len(n.Items) {
			return nil
		}
		n = n.Items[s.Index]
	}
	return n
}

// Equal reports whether two nodes have the same value. The order of an object's
// members does not matter.
func (n *Node) Equal(o *Node) bool {
	if n == nil || o == nil {
		return n == o
	}
	if n.Kind != o.Kind || n.Text != o.Text || len(n.Members) != len(o.Members) || !slices.EqualFunc(n.Items, o.Items, (*Node).Equal) {
		return false
	}
	other := make(map[string]*Node, len(o.Members))
	for _, m := range o.Members {
		other[m.Key] = m.Value
	}
	return !slices.ContainsFunc(n.Members, func(m Member) bool { return !m.Value.Equal(other[m.Key]) })
}

// AppendJSON appends the value as JSON, on one line if indent is "".
func (n *Node) AppendJSON(dst []byte, prefix, indent string) []byte {
	inner := prefix + indent
	brk := func(dst []byte, p string) []byte {
		if indent == "" {
			return dst
		}
		return append(append(dst, '\n'), p...)
	}
	switch n.Kind {
	case KindString:
		return append(dst, Quote(n.Text)...)
	case KindNull:
		return append(dst, "null"...)
	case KindArray:
		if len(n.Items) == 0 {
			return append(dst, "[]"...)
		}
		dst = append(dst, '[')
		for i, v := range n.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = v.AppendJSON(brk(dst, inner), inner, indent)
		}
		return append(brk(dst, prefix), ']')
	case KindObject:
		if len(n.Members) == 0 {
			return append(dst, "{}"...)
		}
		dst = append(dst, '{')
		for i, m := range n.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(brk(dst, inner), Quote(m.Key)...), ':')
			if indent != "" {
				dst = append(dst, ' ')
			}
			dst = m.Value.AppendJSON(dst, inner, indent)
		}
		return append(brk(dst, prefix), '}')
	}
	return append(dst, n.Text...)
}

// Quote returns s as a JSON string without HTML escaping.
func Quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return []byte(strconv.Quote(s))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Step is one step of a path into a file.
type Step struct {
	IsKey bool
	Key   string
	Index int
}

// KeyStep is the step to a member, IndexStep the step to an item.
func KeyStep(k string) Step { return Step{IsKey: true, Key: k} }
func IndexStep(i int) Step  { return Step{Index: i} }

// PathText formats a path: schemas.default.mcpServers.x.args[0].
func PathText(path []Step) string {
	var b strings.Builder
	for _, s := range path {
		if !s.IsKey {
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.Key)
	}
	return b.String()
}
