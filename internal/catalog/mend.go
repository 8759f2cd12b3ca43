package catalog

import (
	"bytes"
	"net/url"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// A strict client refuses a whole list because of one member of the wrong type,
// so every item is checked against these shapes. A wrong optional member is
// removed; an item with a wrong required member is withheld.

// shape maps each known member to its type: " [ { for strings, arrays and
// objects, b and n for booleans and numbers.
type shape map[string]byte

var (
	toolShape = shape{"name": '"', "inputSchema": '{', "title": '"', "description": '"',
		"outputSchema": '{', "annotations": '{', "icons": '[', "_meta": '{', "execution": '{'}
	hintShape = shape{"title": '"', "readOnlyHint": 'b', "destructiveHint": 'b',
		"idempotentHint": 'b', "openWorldHint": 'b'}
	promptShape = shape{"name": '"', "title": '"', "description": '"', "arguments": '[',
		"icons": '[', "_meta": '{'}
	argumentShape = shape{"name": '"', "title": '"', "description": '"', "required": 'b'}
	resourceShape = shape{"uri": '"', "uriTemplate": '"', "name": '"', "title": '"', "description": '"',
		"mimeType": '"', "size": 'n', "annotations": '{', "icons": '[', "_meta": '{'}
	audienceShape = shape{"audience": '[', "priority": 'n', "lastModified": '"'}
	iconShape     = shape{"src": '"', "mimeType": '"', "sizes": '[', "theme": '"'}
)

func typeMark(raw []byte) byte {
	switch c := raw[0]; c {
	case '"', '[', '{':
		return c
	case 't', 'f':
		return 'b'
	case 'n':
		return 0
	}
	return 'n'
}

// mender repairs one item so that every client can read it.
type mender struct {
	notes []i18n.Text
	fatal i18n.Text
}

func (m *mender) note(en, zh string, args ...any) {
	m.notes = append(m.notes, i18n.New(en, zh, args...))
}

func (m *mender) fail(en, zh string, args ...any) {
	if m.fatal.Empty() {
		m.fatal = i18n.New(en, zh, args...)
	}
}

func (m *mender) item(k Kind, raw []byte) []byte {
	switch k {
	case Tools:
		raw = m.fit(raw, toolShape, "name", "inputSchema")
		raw = m.within(raw, "annotations", func(v []byte) []byte { return m.fit(v, hintShape) })
		raw = m.within(raw, "inputSchema", m.inputSchema)
	case Prompts:
		raw = m.fit(raw, promptShape, "name")
		raw = m.within(raw, "arguments", m.arguments)
	default:
		raw = m.fit(raw, resourceShape, k.key())
		raw = m.within(raw, "annotations", func(v []byte) []byte { return m.fit(v, audienceShape) })
		if jsonrpc.Get(raw, "name") == nil && m.fatal.Empty() {
			m.note("it has no name; its %s stands in", "它没有名称，以 %s 代替", k.key())
			raw = jsonrpc.Set(raw, jsonrpc.Get(raw, k.key()), "name")
		}
	}
	if key, _ := jsonrpc.GetString(raw, k.key()); strings.TrimSpace(key) == "" {
		m.fail("its %s is empty", "它的 %s 为空", k.key())
	}
	return m.within(raw, "icons", m.icons)
}

// within edits a member if it is present.
func (m *mender) within(obj []byte, member string, edit func([]byte) []byte) []byte {
	value := jsonrpc.Get(obj, member)
	if value == nil || !m.fatal.Empty() {
		return obj
	}
	if edited := edit(value); !same(edited, value) {
		return jsonrpc.Set(obj, edited, member)
	}
	return obj
}

// fit removes members of the wrong type and fails if a required one is missing.
func (m *mender) fit(obj []byte, s shape, required ...string) []byte {
	out := obj
	for name, value := range jsonrpc.Members(obj) {
		if want := s[name]; want != 0 && typeMark(value) != want {
			out = jsonrpc.Set(out, nil, name)
			if value[0] != 'n' {
				m.note("%s has the wrong type and was removed", "%s 的类型不正确，已移除", name)
			}
		}
	}
	for _, name := range required {
		if jsonrpc.Get(out, name) == nil {
			m.fail("it has no proper %s", "它没有有效的 %s", name)
		}
	}
	return out
}

// inputSchema requires an object schema. It repairs the values that some
// languages write for an empty map or for null.
func (m *mender) inputSchema(schema []byte) []byte {
	if kind, _ := jsonrpc.GetString(schema, "type"); kind != "object" {
		m.fail("the type of its inputSchema is not \"object\"", "它的 inputSchema 的 type 不是 \"object\"")
		return schema
	}
	required := jsonrpc.Get(schema, "required")
	switch {
	case required == nil:
	case required[0] == 'n':
		schema = jsonrpc.Set(schema, nil, "required")
	case !isStrings(required):
		m.fail("required in its inputSchema is not a list of names", "它的 inputSchema 的 required 不是名称数组")
	}
	props := jsonrpc.Get(schema, "properties")
	switch {
	case props == nil:
	case props[0] == 'n':
		schema = jsonrpc.Set(schema, nil, "properties")
	case props[0] == '[' && emptyArray(props):
		m.note("properties in its inputSchema is an empty array and taken as an empty object", "它的 inputSchema 的 properties 是空数组，按空对象处理")
		schema = jsonrpc.Set(schema, []byte("{}"), "properties")
	case props[0] != '{':
		m.fail("properties in its inputSchema is not an object", "它的 inputSchema 的 properties 不是对象")
	default:
		for name, value := range jsonrpc.Members(props) {
			switch value[0] {
			case '{':
			case 't':
				schema = jsonrpc.Set(schema, []byte("{}"), "properties", name)
			case 'f':
				schema = jsonrpc.Set(schema, []byte(`{"not":{}}`), "properties", name)
			default:
				m.fail("the schema of its argument %q is not an object", "它的参数 %q 的 schema 不是对象", name)
			}
		}
	}
	return schema
}

func emptyArray(arr []byte) bool {
	for range jsonrpc.Elements(arr) {
		return false
	}
	return true
}

func isStrings(arr []byte) bool {
	if arr[0] != '[' {
		return false
	}
	for v := range jsonrpc.Elements(arr) {
		if v[0] != '"' {
			return false
		}
	}
	return true
}

func (m *mender) arguments(list []byte) []byte {
	return editElements(list, func(arg []byte) []byte {
		if arg[0] != '{' {
			m.fail("one of its arguments is not an object", "它的某个参数不是对象")
			return arg
		}
		return m.fit(arg, argumentShape, "name")
	})
}

// icons keeps the icons that are safe to show: https, http and data.
func (m *mender) icons(list []byte) []byte {
	return editElements(list, func(icon []byte) []byte {
		src, _ := jsonrpc.GetString(icon, "src")
		u, err := url.Parse(src)
		if err != nil || (u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "data") {
			m.note("an icon is left out: only https, http and data are shown", "略去了一个图标：只显示 https、http 和 data")
			return nil
		}
		return m.fit(icon, iconShape)
	})
}

// editElements returns an array with each element edited; nil removes an
// element. It returns the same slice if nothing changed.
func editElements(arr []byte, edit func([]byte) []byte) []byte {
	var elements [][]byte
	changed := false
	for v := range jsonrpc.Elements(arr) {
		out := edit(v)
		changed = changed || !same(out, v)
		if out != nil {
			elements = append(elements, out)
		}
	}
	if !changed {
		return arr
	}
	return append(append([]byte{'['}, bytes.Join(elements, []byte{','})...), ']')
}

// editEach edits the elements of an array member of obj.
func editEach(obj []byte, member string, edit func([]byte) []byte) []byte {
	arr := jsonrpc.Get(obj, member)
	if len(arr) == 0 || arr[0] != '[' {
		return obj
	}
	if out := editElements(arr, edit); !same(out, arr) {
		return jsonrpc.Set(obj, out, member)
	}
	return obj
}

// same reports whether a and b are the same slice, not merely equal.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
