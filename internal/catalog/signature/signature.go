// Package signature writes schemas in a shorter form for models: as a
// TypeScript type, or as one line.
package signature

import (
	"slices"
	"strings"
	"unicode"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonschema"
)

// Of writes a JSON Schema as a TypeScript type:
//
//	{path: string /* where */; tail?: number}
//
// Comments express what types cannot. ok is false if the type would lose part
// of the schema, or is not shorter than the schema. That additional members are
// not allowed is not written.
func Of(schema []byte) (ts string, ok bool) {
	if !jsonrpc.Valid(schema) {
		return "", false
	}
	ts, lossy := Type(schema)
	return ts, !lossy && len(ts) < len(schema)
}

// Type writes a valid schema as a type; lossy reports that part of it is lost.
func Type(schema []byte) (ts string, lossy bool) {
	t := &typer{root: schema}
	ts = noted(t.write(schema, textOf(jsonrpc.Get(schema, "title"))))
	return ts, t.lossy
}

// typer writes one schema as a type.
type typer struct {
	root  []byte
	refs  []string // references being followed
	depth int
	lossy bool
}

const maxTypeDepth = 32

// write returns the type and a note about it. name is the member that has this
// type.
func (t *typer) write(schema []byte, name string) (ts, note string) {
	if t.depth++; t.depth > maxTypeDepth {
		t.lossy = true
	}
	defer func() { t.depth-- }()
	if t.lossy {
		return "unknown", ""
	}
	switch schema[0] {
	case 't':
		return "unknown", ""
	case 'f':
		return "never", ""
	case '{':
	default:
		t.lossy = true
		return "unknown", ""
	}
	members := make(map[string][]byte)
	var notes []string
	for keyword, value := range jsonrpc.Members(schema) {
		members[keyword] = value
		said, known := remark(keyword, value, name)
		if said != "" && keyword != "description" {
			notes = append(notes, said)
		}
		if !known && !typeKeywords[keyword] {
			t.lossy = true
		}
	}
	if textOf(members["type"]) == "integer" && members["enum"] == nil && members["const"] == nil {
		notes = slices.Insert(notes, 0, "integer")
	}
	if said := textOf(members["description"]); said != "" {
		notes = slices.Insert(notes, 0, said)
	}
	return t.form(members), strings.Join(notes, "; ")
}

// typeKeywords lists the keywords that form reads.
var typeKeywords = set("type", "properties", "required", "items", "prefixItems", "enum", "const",
	"anyOf", "oneOf", "allOf", "$ref", "additionalProperties", "$defs", "definitions")

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// form returns the type without notes: the intersection of all constraints.
func (t *typer) form(m map[string][]byte) string {
	var forms []string
	add := func(s string) { forms = append(forms, s) }
	if ref, there := m["$ref"]; there {
		add(t.reference(textOf(ref)))
	}
	switch {
	case m["const"] != nil:
		add(literal(m["const"]))
	case m["enum"] != nil:
		add(union(t.eachLiteral(m["enum"])))
	default:
		if s := t.basic(m); s != "" {
			add(s)
		}
	}
	for _, keyword := range [...]string{"anyOf", "oneOf"} {
		if m[keyword] != nil {
			add(union(t.each(m[keyword])))
		}
	}
	if m["allOf"] != nil {
		forms = append(forms, t.each(m["allOf"])...)
	}
	switch len(forms) {
	case 0:
		return "unknown"
	case 1:
		return forms[0]
	}
	for i, f := range forms {
		forms[i] = grouped(f)
	}
	return strings.Join(forms, " & ")
}

func (t *typer) each(list []byte) []string {
	var all []string
	for sub := range jsonrpc.Elements(list) {
		all = append(all, noted(t.write(sub, "")))
	}
	return all
}

func (t *typer) eachLiteral(list []byte) []string {
	var all []string
	for v := range jsonrpc.Elements(list) {
		all = append(all, literal(v))
	}
	return all
}

// basic returns the type that the keyword type, or the keywords beside it,
// name.
func (t *typer) basic(m map[string][]byte) string {
	kinds := m["type"]
	switch {
	case len(kinds) > 0 && kinds[0] == '[':
		var all []string
		for kind := range jsonrpc.Elements(kinds) {
			if textOf(kind) == "integer" {
				t.lossy = true // a note cannot say which of several types is an integer
			}
			all = append(all, t.kind(textOf(kind), m))
		}
		return union(all)
	case kinds != nil:
		return t.kind(textOf(kinds), m)
	case m["properties"] != nil || m["required"] != nil || m["additionalProperties"] != nil:
		return t.object(m)
	case m["items"] != nil || m["prefixItems"] != nil:
		return t.array(m)
	}
	return ""
}

func (t *typer) kind(kind string, m map[string][]byte) string {
	switch kind {
	case "string", "number", "boolean", "null":
		return kind
	case "integer":
		return "number"
	case "array":
		return t.array(m)
	case "object":
		return t.object(m)
	}
	t.lossy = true
	return "unknown"
}

func (t *typer) array(m map[string][]byte) string {
	if tuple := m["prefixItems"]; tuple != nil {
		parts := t.each(tuple)
		if rest := m["items"]; rest == nil {
			parts = append(parts, "...unknown[]")
		} else if rest[0] != 'f' {
			parts = append(parts, "..."+grouped(noted(t.write(rest, "")))+"[]")
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if m["items"] == nil {
		return "unknown[]"
	}
	return grouped(noted(t.write(m["items"], ""))) + "[]"
}

func (t *typer) object(m map[string][]byte) string {
	required := make(map[string]bool)
	for name := range jsonrpc.Elements(m["required"]) {
		required[textOf(name)] = true
	}
	var fields []string
	for name, schema := range jsonrpc.Members(m["properties"]) {
		mark := "?: "
		if required[name] {
			mark = ": "
			delete(required, name)
		}
		fields = append(fields, memberName(name)+mark+noted(t.write(schema, name)))
	}
	for name := range jsonrpc.Elements(m["required"]) {
		if required[textOf(name)] {
			fields = append(fields, memberName(textOf(name))+": unknown")
		}
	}
	extra := m["additionalProperties"]
	switch {
	case len(extra) > 0 && extra[0] == '{':
		others := noted(t.write(extra, ""))
		if len(fields) == 0 {
			return "Record<string, " + others + ">"
		}
		fields = append(fields, "[key: string]: "+others)
	case len(extra) > 0 && extra[0] == 't':
		if len(fields) == 0 {
			return "Record<string, unknown>"
		}
		fields = append(fields, "[key: string]: unknown")
	case len(fields) == 0 && m["properties"] == nil && extra == nil:
		return "object"
	}
	return "{" + strings.Join(fields, "; ") + "}"
}

// reference writes the target of a reference in its place. A recursive type has
// no such form.
func (t *typer) reference(ref string) string {
	pointer, local := strings.CutPrefix(ref, "#/")
	for _, open := range t.refs {
		local = local && open != ref
	}
	target := definition(t.root, ref)
	if !local || target == nil {
		t.lossy = true
		return "unknown"
	}
	t.refs = append(t.refs, ref)
	defer func() { t.refs = t.refs[:len(t.refs)-1] }()
	return noted(t.write(target, pointer[strings.LastIndexByte(pointer, '/')+1:]))
}

// definition returns the target of a local reference; nil if there is none.
func definition(root []byte, ref string) []byte {
	pointer, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil
	}
	for token := range strings.SplitSeq(pointer, "/") {
		if root = jsonrpc.Get(root, jsonschema.UnescapePointer(token)); root == nil {
			return nil
		}
	}
	return root
}

func noted(ts, note string) string {
	if note == "" {
		return ts
	}
	return ts + " /* " + strings.ReplaceAll(note, "*/", `*\/`) + " */"
}

// grouped puts a compound type into parentheses.
func grouped(ts string) string {
	if strings.ContainsAny(ts, "|&") || strings.Contains(ts, "/*") {
		return "(" + ts + ")"
	}
	return ts
}

func union(types []string) string {
	var all []string
	had := make(map[string]bool)
	for _, ts := range types {
		if !had[ts] {
			had[ts] = true
			all = append(all, ts)
		}
	}
	if len(all) == 0 {
		return "never"
	}
	return strings.Join(all, " | ")
}

func literal(v []byte) string {
	if v[0] == '"' {
		return string(jsonrpc.Quote(textOf(v)))
	}
	return string(v)
}

func memberName(name string) string {
	if isIdentifier(name) {
		return name
	}
	return string(jsonrpc.Quote(name))
}

func isIdentifier(name string) bool {
	for i, r := range name {
		if !unicode.IsLetter(r) && r != '_' && r != '$' && (i == 0 || !unicode.IsNumber(r)) {
			return false
		}
	}
	return name != ""
}
