package fit

import (
	"bytes"
	"slices"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// join merges the parts of an allOf into the enclosing schema. At the top level
// it also merges the alternatives of a choice, whose properties then become
// optional.
func (w *fitter) join(m *members, raw []byte, top bool) {
	combined := w.fit.Keywords != nil || top && w.fit.Flat
	if list := jsonrpc.Get(raw, "allOf"); combined && isArray(list) {
		w.changed(i18n.Plain("allOf"))
		w.remove(m, "allOf")
		for part := range jsonrpc.Elements(list) {
			w.take(m, part, true)
		}
	}
	if !top || !w.fit.Flat {
		return
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		list := jsonrpc.Get(raw, keyword)
		if !isArray(list) {
			continue
		}
		w.changed(i18n.Plain(keyword))
		w.remove(m, keyword)
		w.remove(m, "anyOf") // a oneOf may have been rewritten to anyOf
		for part := range jsonrpc.Elements(list) {
			w.take(m, part, false)
		}
	}
	for _, keyword := range []string{"not", "enum", "const"} {
		if m.get(keyword) != nil {
			w.changed(i18n.Plain(keyword))
			w.remove(m, keyword)
		}
	}
}

func (w *fitter) remove(m *members, key string) {
	if i := slices.Index(m.keys, key); i >= 0 {
		m.keys, m.values = slices.Delete(m.keys, i, i+1), slices.Delete(m.values, i, i+1)
	}
}

// take adds the properties of one part and, if always is set, its required
// names. Existing properties are kept.
func (w *fitter) take(m *members, part []byte, always bool) {
	if ref, ok := jsonrpc.GetString(part, "$ref"); ok {
		if part = w.find(ref); slices.Contains(w.open, ref) {
			return
		}
		w.open = append(w.open, ref)
		defer func() { w.open = w.open[:len(w.open)-1] }()
	}
	if len(part) == 0 || part[0] != '{' || w.spent() {
		return
	}
	for key, value := range jsonrpc.Members(part) {
		switch key {
		case "properties":
			own := m.get("properties")
			if own == nil {
				own = []byte(`{}`)
			}
			for name, sub := range jsonrpc.Members(value) {
				if jsonrpc.Get(own, name) == nil {
					own = jsonrpc.Set(own, w.schema(sub, false), name)
				}
			}
			m.set("properties", own)
		case "required":
			if always && isArray(value) {
				m.set("required", joinNames(m.get("required"), value))
			}
		case "allOf":
			if always && isArray(value) {
				for sub := range jsonrpc.Elements(value) {
					w.take(m, sub, true)
				}
			}
		case "type", "description":
			if m.get(key) == nil && always {
				w.member(m, key, value)
			}
		}
	}
}

// joinNames returns the union of two lists of names.
func joinNames(a, b []byte) []byte {
	if !isArray(a) {
		return b
	}
	out := bytes.TrimSuffix(bytes.TrimSpace(slices.Clone(a)), []byte("]"))
	for name := range jsonrpc.Elements(b) {
		if !bytes.Contains(a, name) {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, name...)
		}
	}
	return append(out, ']')
}

func isArray(raw []byte) bool { return len(raw) > 0 && raw[0] == '[' }
