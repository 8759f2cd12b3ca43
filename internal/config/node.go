package config

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

func (k kind) String() string { return k.In(i18n.English) }

// In names the kind in a language.
func (k kind) In(l i18n.Lang) string { return kindNames[k].In(l) }

var kindNames = [...]i18n.Text{
	i18n.Plain("null"), i18n.New("a boolean", "布尔值"), i18n.New("a number", "数字"), i18n.New("a string", "字符串"),
	i18n.New("a list", "数组"), i18n.New("an object", "对象"),
}

// node is one value of a file, whatever its format, with its place.
type node struct {
	problem.Pos
	kind    kind
	text    string // a string's text; a number or boolean as JSON writes it
	raw     string // a scalar as the file writes it
	items   []*node
	members []member

	expanded   bool // text had variables in it; raw is the text as written
	unresolved bool // ... of which at least one is not defined
	kept       bool // a draft was given [REDACTED] here, and keeps what the file has
}

// member is one key of an object.
type member struct {
	problem.Pos // of the key
	key         string
	value       *node
}

// get returns the member of that key, or nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := range n.members {
		if n.members[i].key == key {
			return n.members[i].value
		}
	}
	return nil
}

// has reports whether n is an object with that key.
func (n *node) has(key string) bool { return n.get(key) != nil }

// with returns a shallow copy of the object with other members.
func (n *node) with(members []member) *node {
	c := *n
	c.members = members
	return &c
}

// at follows a path of keys and indexes; nil when it leads nowhere.
func (n *node) at(path []step) *node {
	for _, s := range path {
		if n == nil {
			return nil
		}
		if s.isKey {
			n = n.get(s.key)
			continue
		}
		if s.index < 0 || s.index >= len(n.items) {
			return nil
		}
		n = n.items[s.index]
	}
	return n
}

// equal reports whether two nodes hold the same value; the order of an
// object's members does not count.
func (n *node) equal(o *node) bool {
	if n == nil || o == nil {
		return n == o
	}
	if n.kind != o.kind || n.text != o.text || len(n.items) != len(o.items) || len(n.members) != len(o.members) {
		return false
	}
	for i := range n.items {
		if !n.items[i].equal(o.items[i]) {
			return false
		}
	}
	if len(n.members) == 0 {
		return true
	}
	other := make(map[string]*node, len(o.members))
	for _, m := range o.members {
		other[m.key] = m.value
	}
	for _, m := range n.members {
		if !m.value.equal(other[m.key]) {
			return false
		}
	}
	return true
}

// appendJSON appends the value as JSON; indent "" writes one line.
func (n *node) appendJSON(dst []byte, prefix, indent string) []byte {
	inner := prefix + indent
	brk := func(dst []byte, p string) []byte {
		if indent == "" {
			return dst
		}
		return append(append(dst, '\n'), p...)
	}
	switch n.kind {
	case kindString:
		return append(dst, quote(n.text)...)
	case kindNull:
		return append(dst, "null"...)
	case kindArray:
		if len(n.items) == 0 {
			return append(dst, "[]"...)
		}
		dst = append(dst, '[')
		for i, v := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = v.appendJSON(brk(dst, inner), inner, indent)
		}
		return append(brk(dst, prefix), ']')
	case kindObject:
		if len(n.members) == 0 {
			return append(dst, "{}"...)
		}
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(brk(dst, inner), quote(m.key)...), ':')
			if indent != "" {
				dst = append(dst, ' ')
			}
			dst = m.value.appendJSON(dst, inner, indent)
		}
		return append(brk(dst, prefix), '}')
	}
	return append(dst, n.text...)
}

// quote returns s as a JSON string, without escaping what HTML dislikes.
func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return []byte(strconv.Quote(s))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// step is one step of a path into a file.
type step struct {
	isKey bool
	key   string
	index int
}

func keyStep(k string) step { return step{isKey: true, key: k} }
func indexStep(i int) step  { return step{index: i} }

// pathText writes a path as people do: schemas.default.mcpServers.x.args[0].
func pathText(path []step) string {
	var b strings.Builder
	for _, s := range path {
		if !s.isKey {
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.key)
	}
	return b.String()
}
