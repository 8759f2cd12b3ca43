package probe

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonschema"
	"mcp-all-in-one/internal/spelling"
)

// A step is one step of a path into a value: a member or an element.
type step struct {
	name  string
	index int // -1 for a member
}

// parsePath parses a.b[0].c; a backslash escapes the next character.
func parsePath(key string) ([]step, error) {
	var path []step
	var name strings.Builder
	flush := func() error {
		if name.Len() == 0 {
			return i18n.Errorf("argument %q has an empty name in it", "参数 %q 中有空的名称", key)
		}
		path = append(path, step{name: name.String(), index: -1})
		name.Reset()
		return nil
	}
	for i := 0; i < len(key); i++ {
		switch c := key[i]; {
		case c == '\\' && i+1 < len(key):
			i++
			name.WriteByte(key[i])
		case c == '.':
			if i > 0 && key[i-1] == ']' {
				continue
			}
			if err := flush(); err != nil {
				return nil, err
			}
		case c == '[' && (name.Len() > 0 || len(path) > 0):
			if name.Len() > 0 {
				if err := flush(); err != nil {
					return nil, err
				}
			}
			end := strings.IndexByte(key[i:], ']')
			if end < 0 {
				return nil, i18n.Errorf("argument %q: a [ is not closed", "参数 %q：[ 没有闭合", key)
			}
			n, err := strconv.Atoi(key[i+1 : i+end])
			if err != nil || n < 0 || n > maxIndex {
				return nil, i18n.Errorf("argument %q: %q is not an index", "参数 %q：%q 不是下标", key, key[i+1:i+end])
			}
			path = append(path, step{index: n})
			i += end
		default:
			name.WriteByte(c)
		}
	}
	if name.Len() > 0 || len(path) == 0 {
		if err := flush(); err != nil {
			return nil, err
		}
	}
	return path, nil
}

// maxIndex limits an array that is written element by element.
const maxIndex = 10_000

// place sets a value at a path and creates missing parents.
func place(tree any, path []step, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	if raw, ok := tree.(json.RawMessage); ok {
		inner, err := jsonrpc.Decode(raw)
		if err != nil {
			return nil, err
		}
		tree = inner
	}
	s := path[0]
	if s.index >= 0 {
		list, ok := tree.([]any)
		if !ok && tree != nil {
			return nil, i18n.Errorf("what is there is not an array", "该处的值不是数组")
		}
		for len(list) <= s.index {
			list = append(list, nil)
		}
		inner, err := place(list[s.index], path[1:], value)
		list[s.index] = inner
		return list, err
	}
	object, ok := tree.(map[string]any)
	if !ok && tree != nil {
		return nil, i18n.Errorf("what is there is not an object", "该处的值不是对象")
	}
	if object == nil {
		object = make(map[string]any)
	}
	inner, err := place(object[s.name], path[1:], value)
	object[s.name] = inner
	return object, err
}

// schemaAt follows a path through a schema. known is false if the schema lists
// the members at some point and the path's member is not listed; nearest is the
// name that was probably meant.
func schemaAt(schema []byte, path []step) (at []byte, nearest string, known bool) {
	root := schema
	for _, s := range path {
		schema = ResolveRef(root, schema)
		if len(schema) == 0 {
			return nil, "", true
		}
		if s.index >= 0 {
			schema = jsonrpc.Get(schema, "items")
			continue
		}
		properties := jsonrpc.Get(schema, "properties")
		next := jsonrpc.Get(properties, s.name)
		if next == nil {
			if open := jsonrpc.Get(schema, "additionalProperties"); open != nil && open[0] == '{' {
				schema = open
				continue
			}
			names := memberNames(properties)
			if len(names) == 0 || hasPatterns(schema) || string(jsonrpc.Get(schema, "additionalProperties")) == "true" {
				return nil, "", true
			}
			return nil, spelling.Nearest(s.name, names), false
		}
		schema = next
	}
	return ResolveRef(root, schema), "", true
}

// hasPatterns reports whether a schema may define members outside properties.
func hasPatterns(schema []byte) bool {
	return slices.ContainsFunc([]string{"patternProperties", "anyOf", "oneOf", "allOf", "$ref"}, func(key string) bool { return jsonrpc.Get(schema, key) != nil })
}

// ResolveRef follows references within the schema itself.
func ResolveRef(root, schema []byte) []byte {
	for range 16 {
		ref, ok := jsonrpc.GetString(schema, "$ref")
		if !ok || !strings.HasPrefix(ref, "#/") {
			return schema
		}
		var path []string
		for part := range strings.SplitSeq(ref[2:], "/") {
			path = append(path, jsonschema.UnescapePointer(part))
		}
		schema = jsonrpc.Get(root, path...)
	}
	return schema
}

func memberNames(object []byte) []string {
	var names []string
	for name := range jsonrpc.Members(object) {
		names = append(names, name)
	}
	return names
}

// typesOf returns the types that a schema allows, in the order in which they
// are tried. A string accepts any text, so it comes last.
func typesOf(schema []byte) []string {
	var kinds []string
	collectTypes(schema, &kinds, 0)
	if slices.Contains(kinds, "string") {
		kinds = append(slices.DeleteFunc(kinds, func(k string) bool { return k == "string" }), "string")
	}
	return kinds
}

func collectTypes(schema []byte, kinds *[]string, depth int) {
	if len(schema) == 0 || depth > 4 {
		return
	}
	add := func(kind string) {
		if kind != "" && !slices.Contains(*kinds, kind) {
			*kinds = append(*kinds, kind)
		}
	}
	if kind, ok := jsonrpc.GetString(schema, "type"); ok {
		add(kind)
	}
	if list := jsonrpc.Get(schema, "type"); len(list) > 0 && list[0] == '[' {
		for raw := range jsonrpc.Elements(list) {
			add(bareToken(raw))
		}
	}
	for _, key := range []string{"enum", "const"} {
		value := jsonrpc.Get(schema, key)
		if len(value) > 0 && value[0] == '[' {
			for raw := range jsonrpc.Elements(value) {
				add(typeOfJSON(raw))
			}
		} else if len(value) > 0 {
			add(typeOfJSON(value))
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		for sub := range jsonrpc.Elements(jsonrpc.Get(schema, key)) {
			collectTypes(sub, kinds, depth+1)
		}
	}
}

func typeOfJSON(raw []byte) string {
	switch raw[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
