package probe

import (
	"slices"

	"mcp-all-in-one/internal/jsonrpc"
)

// A Field is one field of a form.
type Field struct {
	Name, Title, Description string
	Type                     string
	Default                  string
	Choices                  []string
	Required                 bool
}

// Form returns the fields that a schema asks for, in its order.
func Form(schema []byte) []Field {
	var required []string
	for raw := range jsonrpc.Elements(jsonrpc.Get(schema, "required")) {
		required = append(required, bareToken(raw))
	}
	var fields []Field
	for name, sub := range jsonrpc.Members(jsonrpc.Get(schema, "properties")) {
		sub = ResolveRef(schema, sub)
		f := Field{Name: name, Required: slices.Contains(required, name)}
		f.Title, _ = jsonrpc.GetString(sub, "title")
		f.Description, _ = jsonrpc.GetString(sub, "description")
		if kinds := typesOf(sub); len(kinds) > 0 {
			f.Type = kinds[0]
		}
		if def := jsonrpc.Get(sub, "default"); def != nil {
			f.Default = bareToken(def)
		}
		for raw := range jsonrpc.Elements(jsonrpc.Get(sub, "enum")) {
			f.Choices = append(f.Choices, bareToken(raw))
		}
		for raw := range jsonrpc.Elements(jsonrpc.Get(sub, "oneOf")) {
			if value := jsonrpc.Get(raw, "const"); value != nil {
				f.Choices = append(f.Choices, bareToken(value))
			}
		}
		fields = append(fields, f)
	}
	return fields
}
