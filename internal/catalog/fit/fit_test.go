package fit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/jsonschema"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestFitSchema(t *testing.T) {
	for _, tt := range []struct{ name, fit, in, out string }{
		{"untouched", "gemini", `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer","minimum":1}},"required":["b"]}`, ""},
		{"order stays", "gemini", `{"$schema":"x","type":"object","properties":{"z":{"type":"string"},"a":{"type":"string","const":"k"}}}`,
			`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string","enum":["k"]}}}`},
		{"a bound in words", "gemini", `{"type":"object","properties":{"n":{"type":"number","description":"size","exclusiveMinimum":0,"examples":[1]}}}`,
			`{"type":"object","properties":{"n":{"type":"number","description":"size (exclusiveMinimum: 0)"}}}`},
		{"numbers in words", "gemini", `{"properties":{"n":{"enum":[1,2]}}}`, `{"properties":{"n":{"description":"(one of 1,2)"}}}`},
		{"null", "gemini", `{"properties":{"n":{"type":["string","null"]}}}`, `{"properties":{"n":{"nullable":true,"type":"string"}}}`},
		{"types", "gemini", `{"properties":{"n":{"type":["string","integer"]}}}`, `{"properties":{"n":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`},
		{"reference", "gemini", `{"properties":{"p":{"$ref":"#/$defs/P","description":"where"}},"$defs":{"P":{"type":"object","properties":{"x":{"type":"number"}}}}}`,
			`{"properties":{"p":{"type":"object","properties":{"x":{"type":"number"}},"description":"where"}}}`},
		{"reference into itself", "gemini", `{"properties":{"t":{"$ref":"#/$defs/T"}},"$defs":{"T":{"type":"object","properties":{"sub":{"$ref":"#/$defs/T"}}}}}`,
			`{"properties":{"t":{"type":"object","properties":{"sub":{"type":"object"}}}}}`},
		{"choice within", "gemini", `{"properties":{"c":{"oneOf":[{"type":"string"},{"const":"x"}]}}}`,
			`{"properties":{"c":{"anyOf":[{"type":"string"},{"enum":["x"],"type":"string"}]}}}`},
		{"tuple", "gemini", `{"properties":{"t":{"type":"array","items":[{"type":"string"}]}}}`, `{"properties":{"t":{"type":"array","items":{}}}}`},
		{"combination within", "gemini", `{"properties":{"c":{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}}}]}}}`,
			`{"properties":{"c":{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]}}}`},
		{"references stay", "openai", `{"type":"object","properties":{"p":{"$ref":"#/$defs/P"}},"$defs":{"P":{"type":"string"}}}`, ""},
		{"array", "openai", `{"type":"object","properties":{"l":{"type":"array"}}}`, `{"type":"object","properties":{"l":{"type":"array","items":{}}}}`},
		{"choice at the top", "claude", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"anyOf":[{"properties":{"b":{"type":"string"}},"required":["b"]},{"required":["a"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]}`},
		{"combination at the top", "claude", `{"type":"object","allOf":[{"$ref":"#/$defs/A"},{"required":["x","y"]}],"required":["x"],"$defs":{"A":{"properties":{"x":{"type":"string"}}}}}`,
			`{"type":"object","required":["x","y"],"$defs":{"A":{"properties":{"x":{"type":"string"}}}},"properties":{"x":{"type":"string"}}}`},
		{"value at the top", "openai", `{"type":"object","const":{},"not":{"required":["x"]}}`, `{"type":"object"}`},
		{"choice within stays", "claude", `{"type":"object","properties":{"c":{"oneOf":[{"type":"string"},{"type":"null"}]}}}`, ""},
	} {
		t.Run(tt.fit+" "+tt.name, func(t *testing.T) {
			in := []byte(tt.in)
			out := Of(tt.fit).Schema(in)
			if tt.out == "" {
				if !sameSlice(in, out) || Of(tt.fit).Refuses(in).String() != "" {
					t.Errorf("it was changed: %s, for %s", out, Of(tt.fit).Refuses(in))
				}
				return
			}
			if d := cmp.Diff(tt.out, string(out)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if d := cmp.Diff(tt.in, string(in)); d != "" {
				t.Errorf("the input was changed: %s", d)
			}
			if again := Of(tt.fit).Schema(out); !sameSlice(again, out) && tt.name != "types" {
				t.Errorf("what was cut is cut again: %s", again)
			}
			if Of(tt.fit).Refuses(in).String() == "" {
				t.Error("it does not say what is refused")
			}
		})
	}
}

// TestFitKeepsArguments checks every dialect with the official suite: arguments
// that the full schema accepts are also accepted by the adapted one, so that a
// client that validates them sends them.
func TestFitKeepsArguments(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(mcptest.SchemaSuite(t), "draft2020-12", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no suite: %v", err)
	}
	held := 0
	for _, file := range files {
		raw := must.Read(t, file)
		var cases []mcptest.SchemaCase
		must.Parse(t, raw, &cases)
		for _, c := range cases {
			for i := range Dialects {
				held += fitHolds(t, filepath.Base(file), &Dialects[i], c)
			}
		}
	}
	if held < 3000 {
		t.Errorf("only %d arguments were held against a fit", held)
	}
}

// withNulls expresses nullable in JSON Schema.
func withNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = withNulls(v[k])
		}
		if v["nullable"] == true {
			delete(v, "nullable")
			return map[string]any{"anyOf": []any{map[string]any{"type": "null"}, v}}
		}
	case []any:
		for i := range v {
			v[i] = withNulls(v[i])
		}
	}
	return v
}

// doubling returns a small schema that is enormous when expanded: each part
// refers to the next one twice.
func doubling(keyword string) []byte {
	var defs []string
	for i := range 60 {
		defs = append(defs, fmt.Sprintf(`"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, keyword, i+1, i+1))
	}
	return []byte(`{"type":"object",` + fmt.Sprintf(`%q:[{"$ref":"#/$defs/d0"}]`, keyword) + `,"$defs":{` + strings.Join(defs, ",") + `,"d60":{"properties":{"a":{"type":"string"}}}}}`)
}

func TestFitIsBounded(t *testing.T) {
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		for i := range Dialects {
			if out := Dialects[i].Schema(doubling(keyword)); len(out) > 4*maxFitBytes || !json.Valid(out) {
				t.Errorf("%s of %s: %d bytes", Dialects[i].Name, keyword, len(out))
			}
		}
	}
}

// FuzzFit adapts any schema: the result is JSON of limited size.
func FuzzFit(f *testing.F) {
	f.Add([]byte(`{"type":["object","null"],"properties":{"a":{"$ref":"#"},"b":{"enum":[1,null]},"c":{"items":[true]}},"allOf":[{"$ref":"#/properties/a"},false]}`))
	f.Add([]byte(`{"$ref":"#/$defs/a/0","$defs":{"a":[{"oneOf":[{},{"const":[]}]}]},"description":7}`))
	f.Add([]byte(`{"":0}`))
	f.Add(doubling("anyOf"))
	f.Fuzz(func(t *testing.T, schema []byte) {
		if !json.Valid(schema) || len(schema) > maxFitBytes {
			return
		}
		for i := range Dialects {
			if out := Dialects[i].Schema(schema); !json.Valid(out) || len(out) > len(schema)+4*maxFitBytes {
				t.Errorf("%s: %d bytes: %.200s", Dialects[i].Name, len(out), out)
			}
		}
	})
}

func fitHolds(t *testing.T, file string, f *Dialect, c mcptest.SchemaCase) (held int) {
	w := fitter{fit: f, root: c.Schema}
	var cut any
	dec := json.NewDecoder(bytes.NewReader(w.schema(c.Schema, false))) // not at the top level: merged choices accept less
	dec.UseNumber()
	if err := dec.Decode(&cut); err != nil {
		t.Fatalf("%s: %s for %s: %v", file, c.Description, f.Name, err)
	}
	shown := must.JSON(t, withNulls(cut))
	var rules jsonschema.Schema
	if rules.Err(shown) != nil {
		return 0 // the case needs another document
	}
	for _, test := range c.Tests {
		if !test.Valid {
			continue
		}
		held++
		if found := rules.Validate(shown, test.Data); found != nil && string(test.Data) != "null" {
			t.Errorf("%s: %s: %s: %s is shown a schema that refuses %s: %v", file, c.Description, test.Description, f.Name, test.Data, found)
		}
	}
	return held
}

// sameSlice reports whether a and b are the same slice, not merely equal.
func sameSlice(a, b []byte) bool { return len(a) == len(b) && &a[0] == &b[0] }
