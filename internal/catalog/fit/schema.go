package fit

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonschema"
)

const (
	maxFitDepth = 12       // levels up to which references are expanded
	maxFitBytes = 64 << 10 // of one schema, before and after the rewrite
	maxFitSteps = 10_000   // subschemas, counted each time they are written
)

// A fitter rewrites one schema for a dialect. Members keep their order.
type fitter struct {
	fit   *Dialect
	root  []byte
	first i18n.Text // the first rewritten keyword
	open  []string  // references that are being expanded
	depth int
	size  int
	steps int
}

// spent reports that a schema is too expensive to expand. The rest of it then
// accepts any value.
func (w *fitter) spent() bool {
	w.steps++
	return w.steps > maxFitSteps || w.size > maxFitBytes
}

func (w *fitter) changed(what i18n.Text) {
	if w.first.Empty() {
		w.first = what
	}
}

// members are the members of a schema under construction, in order.
type members struct {
	keys   []string
	values [][]byte
}

func (m *members) set(key string, value []byte) {
	if i := slices.Index(m.keys, key); i >= 0 {
		m.values[i] = value
		return
	}
	m.keys, m.values = append(m.keys, key), append(m.values, value)
}

func (m *members) get(key string) []byte {
	if i := slices.Index(m.keys, key); i >= 0 {
		return m.values[i]
	}
	return nil
}

func (m *members) bytes() []byte {
	out := []byte{'{'}
	for i, key := range m.keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, jsonrpc.Quote(key)...), ':'), m.values[i]...)
	}
	return append(out, '}')
}

// schema returns a schema or subschema adapted to the dialect.
func (w *fitter) schema(raw []byte, top bool) []byte {
	if len(raw) == 0 || raw[0] != '{' {
		if w.fit.Keywords == nil {
			return raw
		}
		w.changed(i18n.New("a schema that is %s", "为 %s 的 schema", string(raw)))
		return []byte(`{}`)
	}
	if w.depth++; w.depth > maxFitDepth && w.fit.Keywords != nil || w.spent() {
		w.depth--
		w.changed(i18n.New("a schema of many levels", "层数很多的 schema"))
		return []byte(`{}`)
	}
	defer func() { w.depth-- }()
	if ref, ok := jsonrpc.GetString(raw, "$ref"); ok && !w.fit.Takes("$ref") {
		return w.written(ref, raw, top)
	}
	var m members
	var notes []string
	for key, value := range jsonrpc.Members(raw) {
		if note := w.member(&m, key, value); note != "" {
			notes = append(notes, note)
		}
	}
	w.join(&m, raw, top)
	w.items(&m, jsonrpc.Get(raw, "prefixItems") != nil)
	if len(notes) > 0 {
		text, _ := jsonrpc.Text(m.get("description"))
		m.set("description", jsonrpc.Quote(strings.TrimSpace(text+" ("+strings.Join(notes, "; ")+")")))
	}
	out := m.bytes()
	w.size += len(out)
	return out
}

// member writes one keyword. If the dialect cannot express it, member returns a
// note for the model.
func (w *fitter) member(m *members, key string, value []byte) (note string) {
	switch {
	case key == "properties":
		m.set(key, w.each(value))
	case key == "items" && value[0] == '{', key == "additionalProperties" && value[0] == '{' && w.fit.Takes(key):
		m.set(key, w.schema(value, false))
	case key == "anyOf" && value[0] == '[':
		m.set(key, w.all(value))
	case w.fit.Keywords == nil:
		m.set(key, value)
	case key == "items":
		w.changed(i18n.Plain("items")) // an array of schemas, one per position
	case key == "oneOf" && value[0] == '[':
		w.changed(i18n.Plain(key))
		m.set("anyOf", w.all(value))
	case key == "const":
		w.changed(i18n.Plain(key))
		return w.enum(m, append(append([]byte{'['}, value...), ']'))
	case key == "enum":
		return w.enum(m, value)
	case key == "type" && value[0] == '[':
		w.types(m, value)
	case key == "format" && !slices.Contains(w.fit.Formats, unquoted(value)),
		!w.fit.Takes(key):
		w.changed(i18n.Plain(key))
		if isScalar(value) && !strings.HasPrefix(key, "$") {
			return key + ": " + unquoted(value)
		}
	default:
		m.set(key, value)
	}
	return ""
}

// items makes an array declare its items. If the first positions have their own
// schemas, items does not apply to all elements.
func (w *fitter) items(m *members, placed bool) {
	switch {
	case placed && !w.fit.Takes("prefixItems") && m.get("items") != nil:
		m.set("items", []byte(`{}`))
	case w.fit.Items && !placed && string(m.get("type")) == `"array"` && m.get("items") == nil:
		w.changed(i18n.New("an array without items", "没有 items 的数组"))
		m.set("items", []byte(`{}`))
	}
}

func (w *fitter) each(properties []byte) []byte {
	var m members
	for name, sub := range jsonrpc.Members(properties) {
		m.set(name, w.schema(sub, false))
	}
	return m.bytes()
}

func (w *fitter) all(list []byte) []byte {
	out := []byte{'['}
	for sub := range jsonrpc.Elements(list) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, w.schema(sub, false)...)
	}
	return append(out, ']')
}

// enum keeps an enum of strings; any other enum is described in words.
func (w *fitter) enum(m *members, list []byte) string {
	for v := range jsonrpc.Elements(list) {
		if v[0] != '"' {
			w.changed(i18n.Plain("enum"))
			return "one of " + string(bytes.Trim(list, "[]"))
		}
	}
	m.set("enum", list)
	if m.get("type") == nil {
		m.set("type", []byte(`"string"`))
	}
	return ""
}

// types rewrites a list of types as a nullable type or as a choice.
func (w *fitter) types(m *members, list []byte) {
	w.changed(i18n.Plain("type"))
	var kinds [][]byte
	for v := range jsonrpc.Elements(list) {
		if string(v) == `"null"` {
			m.set("nullable", []byte("true"))
		} else {
			kinds = append(kinds, v)
		}
	}
	if len(kinds) == 1 {
		m.set("type", kinds[0])
		return
	}
	choice := []byte{'['}
	for i, v := range kinds {
		if i > 0 {
			choice = append(choice, ',')
		}
		choice = append(append(append(choice, `{"type":`...), v...), '}')
	}
	if len(kinds) > 0 && m.get("anyOf") == nil {
		m.set("anyOf", append(choice, ']'))
	}
}

// written returns the target of a reference, merged with the keywords beside
// it. A recursive reference is not expanded again.
func (w *fitter) written(ref string, beside []byte, top bool) []byte {
	w.changed(i18n.Plain("$ref"))
	target := w.find(ref)
	if target == nil || slices.Contains(w.open, ref) {
		if kind := jsonrpc.Get(target, "type"); len(kind) > 0 && kind[0] == '"' {
			return []byte(`{"type":` + string(kind) + `}`)
		}
		return []byte(`{}`)
	}
	w.open = append(w.open, ref)
	defer func() { w.open = w.open[:len(w.open)-1] }()
	whole := target
	for key, value := range jsonrpc.Members(beside) {
		if key != "$ref" && target[0] == '{' {
			whole = jsonrpc.Set(whole, value, key)
		}
	}
	return w.schema(whole, top)
}

// find returns the part of the schema that a local reference points to.
func (w *fitter) find(ref string) []byte {
	path, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	at := w.root
	for token := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		if len(at) == 0 || at[0] != '{' && at[0] != '[' {
			return nil
		}
		if at[0] == '{' {
			at = jsonrpc.Get(at, jsonschema.UnescapePointer(token))
			continue
		}
		i, err := strconv.Atoi(token)
		if err != nil {
			return nil
		}
		at = nth(at, i)
	}
	return at
}

func nth(list []byte, i int) []byte {
	for v := range jsonrpc.Elements(list) {
		if i == 0 {
			return v
		}
		i--
	}
	return nil
}

func isScalar(raw []byte) bool { return len(raw) > 0 && raw[0] != '{' && raw[0] != '[' }

func unquoted(raw []byte) string {
	if s, ok := jsonrpc.Text(raw); ok {
		return s
	}
	return string(raw)
}
