package jsonschema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	reference "github.com/google/jsonschema-go/jsonschema"

	"mcp-all-in-one/internal/jsonrpc"
)

// FuzzValidate compares our result with that of an independent validator.
func FuzzValidate(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`), []byte(`{"a":1.5}`))
	f.Add([]byte(`{"anyOf":[{"const":1},{"minimum":3}],"not":{"multipleOf":2}}`), []byte(`4`))
	f.Add([]byte(`{"unevaluatedProperties":false,"allOf":[{"properties":{"a":true}}]}`), []byte(`{"a":1,"b":2}`))
	f.Add([]byte(`{"$defs":{"n":{"items":{"$ref":"#/$defs/n"},"maxItems":2}},"$ref":"#/$defs/n"}`), []byte(`[[[1,2,3]]]`))
	f.Add([]byte(`{"Not":{"minimum":2}}`), []byte(`4`))
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		if !jsonrpc.Valid(schema) || !jsonrpc.Valid(value) || len(schema) > 2_000 || len(value) > 2_000 {
			return
		}
		raw, _ := decode(schema)
		v, _ := decode(value)
		if !bothRead(raw) || !bothRead(v) {
			return
		}
		var theirs reference.Schema
		if json.Unmarshal(schema, &theirs) != nil {
			return
		}
		resolved, err := theirs.Resolve(nil)
		if err != nil {
			return
		}
		ours, err := compileWith(raw, metaschema, false)
		if err != nil {
			return
		}
		var theirValue any
		if json.Unmarshal(value, &theirValue) != nil {
			return
		}
		e := &evaluation{doc: ours}
		if ok := e.check(ours.root, v, nil, nil, false); !e.spent && ok != (resolved.Validate(theirValue) == nil) {
			t.Errorf("%s for %s: we say %v, they say %v", schema, value, ok, resolved.Validate(theirValue))
		}
	})
}

// bothRead reports whether both validators read a document in the same way: no
// numbers beyond the other's floats, no keyword that it does not support or
// reads as another dialect or in any case.
func bothRead(v any) bool {
	switch v := v.(type) {
	case json.Number:
		return len(v) < 10 && !strings.ContainsAny(string(v), ".eE")
	case map[string]any:
		for name, sub := range v {
			if name == "dependencies" || name == "$recursiveRef" || strings.Contains(name, "attern") || name == "$schema" || name == "$id" || isMiswritten(name) || !bothRead(sub) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(v, func(sub any) bool { return !bothRead(sub) })
	}
	return true
}

// isMiswritten reports whether a name is a keyword but for its case. The other validator
// takes it for the keyword, as package encoding/json does.
func isMiswritten(name string) bool {
	for f := range reflect.TypeFor[reference.Schema]().Fields() {
		keyword, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if keyword != name && strings.EqualFold(keyword, name) {
			return true
		}
	}
	return false
}
