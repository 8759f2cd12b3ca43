package config

import (
	"cmp"
	"reflect"

	"mcp-all-in-one/internal/config/document"
)

// examples are values of keys for which any text will not do.
var examples = map[string]string{
	"url": "https://example.com", "hook": "https://example.com", "uri": "file:///home/me", "issuer": "https://example.com",
	"name": "own", "file": "audit.jsonl",
}

// example returns a short value of a type, as the file has it; name is its key.
func example(t reflect.Type, name string) string {
	switch t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			return `["one", "two"]`
		}
		return "[" + example(t.Elem(), "") + "]"
	case reflect.Map:
		return `{"NAME": ` + example(t.Elem(), "") + "}"
	case reflect.Struct:
		return exampleObject(t)
	}
	return string(document.Quote(cmp.Or(examples[name], "value")))
}

// exampleObject returns an object with the name and the address, or else with the
// first key, of a struct.
func exampleObject(t reflect.Type) string {
	fields, list := fieldsOf(t), ""
	for _, f := range fields {
		if f.name == "name" || f.name == "url" || f.name == "uri" || f.name == "command" {
			if list != "" {
				list += ", "
			}
			list += string(document.Quote(f.name)) + ": " + exampleOf(f)
		}
	}
	if list == "" && len(fields) > 0 {
		list = string(document.Quote(fields[0].name)) + ": " + exampleOf(fields[0])
	}
	return "{" + list + "}"
}

// exampleOf returns a value of a field.
func exampleOf(f field) string {
	t := f.typ
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case len(f.enum) > 0:
		return string(document.Quote(f.enum[0]))
	case t == typeDuration || f.size || t.Kind() == reflect.String && f.hasDef:
		return string(document.Quote(cmp.Or(f.def, "30s")))
	case t.Kind() == reflect.Bool:
		return "true"
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return cmp.Or(f.def, f.min, "1")
	}
	return example(t, f.name)
}
