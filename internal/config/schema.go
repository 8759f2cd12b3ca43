package config

import (
	"reflect"
	"slices"

	"mcp-all-in-one/internal/config/document"
)

// SchemaVersion is the dialect of the JSON Schema that JSONSchema returns.
const SchemaVersion = "http://json-schema.org/draft-07/schema#"

// JSONSchema returns the JSON Schema of the file. It is generated from the
// structs that the decoder fills.
func JSONSchema() []byte {
	server := structSchema(reflect.TypeFor[Server]())
	server.Add("anyOf", required("command", "url", "serverUrl", "httpUrl", "cmd", "scripts"))
	schema := structSchema(reflect.TypeFor[Schema]())
	schema.Get("properties").Add("mcpServers", serverMap())

	root := structSchema(reflect.TypeFor[Config]())
	props := object()
	props.Add("$schema", object("type", "string"))
	props.Add("mcpServers", serverMap())
	props.Add("servers", serverMap())
	props.Add("mcp_servers", object("type", "array", "items", ref("server")))
	props.Add("schemas", object("type", "object",
		"propertyNames", object("pattern", schemaName().String()),
		"additionalProperties", ref("schema")))
	props.Members = append(props.Members, root.Get("properties").Members...)

	out := object("$schema", SchemaVersion, "title", "mcp-all-in-one",
		"description", "Configuration of mcp-all-in-one. Servers are given in one of mcpServers, servers, mcp_servers and schemas; mcpServers beside schemas is the schema default.",
		"type", "object", "properties", props,
		"anyOf", required("mcpServers", "servers", "mcp_servers", "schemas"),
		"definitions", object("server", server, "schema", schema))
	return append(out.AppendJSON(nil, "", "  "), '\n')
}

// object builds a node from keys and values. A value is a string or a node.
func object(pairs ...any) *document.Node {
	n := &document.Node{Kind: document.KindObject}
	for i := 0; i < len(pairs); i += 2 {
		switch v := pairs[i+1].(type) {
		case string:
			n.Add(pairs[i].(string), &document.Node{Kind: document.KindString, Text: v})
		case *document.Node:
			n.Add(pairs[i].(string), v)
		}
	}
	return n
}

func ref(name string) *document.Node { return object("$ref", "#/definitions/"+name) }

// serverMap is the schema of an object with servers by name.
func serverMap() *document.Node {
	return object("type", "object",
		"propertyNames", object("pattern", `^[^\s\$\{\}]+$`),
		"additionalProperties", ref("server"))
}

// required is a list of schemas for anyOf: the object must have one of the
// keys.
func required(keys ...string) *document.Node {
	n := &document.Node{Kind: document.KindArray}
	for _, k := range keys {
		n.Items = append(n.Items, object("required", stringList(k)))
	}
	return n
}

func stringList(values ...string) *document.Node {
	n := &document.Node{Kind: document.KindArray}
	for _, v := range values {
		n.Items = append(n.Items, &document.Node{Kind: document.KindString, Text: v})
	}
	return n
}

func number(text string) *document.Node { return &document.Node{Kind: document.KindNumber, Text: text} }

func structSchema(t reflect.Type) *document.Node {
	props := object()
	for _, f := range fieldsOf(t) {
		v := typeSchema(f.typ, f)
		v.Add("description", &document.Node{Kind: document.KindString, Text: f.doc})
		if d := defaultNode(f); d != nil {
			v.Add("default", d)
		}
		props.Add(f.name, v)
	}
	return object("type", "object", "properties", props)
}

// typeSchema returns the schema of one value.
func typeSchema(t reflect.Type, f field) *document.Node {
	switch {
	case t == typeDuration:
		return object("type", stringList("string", "number"))
	case f.size:
		return object("type", stringList("string", "integer"))
	case t == typeRaw:
		return object()
	case t == typeInherit:
		return object("oneOf", &document.Node{Kind: document.KindArray, Items: []*document.Node{
			object("const", "all"), object("type", "array", "items", object("type", "string")),
		}})
	case t == typeHosts:
		return object("oneOf", &document.Node{Kind: document.KindArray, Items: []*document.Node{
			object("enum", stringList("any", "none")), object("type", "array", "items", object("type", "string")),
		}})
	case t == typeSandbox:
		return object("oneOf", &document.Node{Kind: document.KindArray, Items: []*document.Node{object("enum", stringList("on", "off")), structSchema(t)}})
	case t == typeSampling:
		s := structSchema(t)
		return object("oneOf", &document.Node{Kind: document.KindArray, Items: []*document.Node{object("type", "string"), s}})
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeSchema(t.Elem(), f)
	case reflect.Bool:
		return object("type", "boolean")
	case reflect.Int, reflect.Int64:
		n := object("type", "integer")
		if f.min != "" {
			n.Add("minimum", number(f.min))
		}
		if f.max != "" {
			n.Add("maximum", number(f.max))
		}
		return n
	case reflect.Slice:
		return object("type", "array", "items", typeSchema(t.Elem(), field{}))
	case reflect.Map:
		value := typeSchema(t.Elem(), field{})
		switch {
		case t.Elem().Kind() == reflect.String: // a number or true is read as it is written
			value = object("type", stringList("string", "number", "boolean"))
		case t.Elem().Kind() == reflect.Struct && hasKey(t.Elem(), "enabled"): // false is short for enabled: false
			value = object("type", stringList("object", "boolean"), "properties", value.Get("properties"))
		}
		return object("type", "object", "additionalProperties", value)
	case reflect.Struct:
		return structSchema(t)
	}
	n := object("type", "string")
	if len(f.enum) > 0 {
		n.Add("enum", stringList(f.enum...))
	}
	return n
}

func hasKey(t reflect.Type, name string) bool {
	return slices.ContainsFunc(fieldsOf(t), func(f field) bool { return f.name == name })
}

// defaultNode returns the default of a field as JSON, or nil if it has none.
func defaultNode(f field) *document.Node {
	if !f.hasDef {
		return nil
	}
	switch {
	case f.typ == typeDuration, f.size, f.typ.Kind() == reflect.String:
		return &document.Node{Kind: document.KindString, Text: f.def}
	}
	return &document.Node{Kind: document.KindNumber, Text: f.def}
}
