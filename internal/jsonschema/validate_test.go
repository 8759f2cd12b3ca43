package jsonschema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/mcptest/must"
)

// A testSchema is a schema with its rules.
type testSchema struct {
	raw   []byte
	rules Schema
}

func newSchema(schema string) *testSchema { return &testSchema{raw: []byte(schema)} }

func (s *testSchema) Unvalidated() error               { return s.rules.Err(s.raw) }
func (s *testSchema) Validate(args []byte) []Violation { return s.rules.Validate(s.raw, args) }

func TestValidate(t *testing.T) {
	const schema = `{"type":"object","properties":{"path":{"type":"string","minLength":2,"pattern":"^/"},"n":{"type":"integer","minimum":1,"maximum":100},
		"mode":{"enum":["fast","slow"]},"o":{"type":"object","properties":{"a/b":{"type":"array","items":{"type":"number"}}},"required":["k"]},
		"u":{"anyOf":[{"type":"string"},{"type":"null"}]},"big":{"maximum":9007199254740992}},"required":["path"],"additionalProperties":false}`
	it := newSchema(schema)
	must.OK(t, it.Unvalidated())
	for _, tt := range []struct{ id, args, path, want, got, message string }{
		{"req/S002-10", `{}`, "/path", "a value", "", "Missing required argument: 'path'"},
		{"req/S002-18", ``, "/path", "a value", "", "Missing required argument: 'path'"},
		{"req/C-41/unknown", `{"path":"/x","k":1}`, "/k", "no such argument", "", "Unknown argument: 'k'. Available: ['big', 'mode', 'n', 'o', 'path', 'u']"},
		{"req/C-41/type", `{"path":7}`, "/path", "string", "integer", "Argument 'path': expected string, got integer"},
		{"req/C-41/maximum", `{"path":"/x","n":500}`, "/n", "at most 100", "500", "Argument 'n': expected at most 100, got 500"},
		{"req/C-41/enum", `{"path":"/x","mode":"no"}`, "/mode", `one of "fast", "slow"`, `"no"`, `Argument 'mode': expected one of "fast", "slow", got "no"`},
		{"req/C-41/place", `{"path":"/x","o":{"k":1,"a/b":[1,"x"]}}`, "/o/a~1b/1", "number", "string", "Argument 'o.a/b.1': expected number, got string"},
		{"req/C-41/nested-required", `{"path":"/x","o":{}}`, "/o/k", "a value", "", "Missing required argument: 'o.k'"},
		{"req/C-41/union", `{"path":"/x","u":1}`, "/u", "string or null", "integer", "Argument 'u': expected string or null, got integer"},
		{"req/C-41/big", `{"path":"/x","big":9007199254740993}`, "/big", "at most 9007199254740992", "9007199254740993", "Argument 'big': expected at most 9007199254740992, got 9007199254740993"},
		{"req/C-41/pattern", `{"path":"xx"}`, "/path", "text that matches ^/", `"xx"`, `Argument 'path': expected text that matches ^/, got "xx"`},
		{"req/C-41/not-an-object", `[]`, "", "object", "array", "Arguments: expected object, got array"},
	} {
		t.Run(tt.id, func(t *testing.T) {
			var got []string
			for _, v := range it.Validate([]byte(tt.args)) {
				got = append(got, v.Argument, v.Path, v.Want.String(), v.Got.String(), v.Message.String())
			}
			argument := strings.ReplaceAll(strings.ReplaceAll(strings.TrimPrefix(tt.path, "/"), "/", "."), "~1", "/")
			equalTo(t, []string{argument, tt.path, tt.want, tt.got, tt.message}, got)
		})
	}
	t.Run("req/S002-10/text", func(t *testing.T) {
		equalTo(t, "Argument validation failed: Missing required argument: 'path'", Violations(it.Validate(nil)).Error())
		equalTo(t, "Argument validation failed: Argument 'n': expected at least 1, got 0; Missing required argument: 'path'", Violations(it.Validate([]byte(`{"n":0}`))).Error())
	})
	t.Run("req/C-41/valid", func(t *testing.T) {
		equalTo(t, []Violation(nil), it.Validate([]byte(`{"path":"/x","n":1.0,"mode":"slow","o":{"k":null},"u":null}`)))
	})
	t.Run("req/C-41/unknown-allowed", func(t *testing.T) {
		equalTo(t, []Violation(nil), newSchema(`{"type":"object","properties":{"a":{}}}`).Validate([]byte(`{"b":1}`)))
	})
	t.Run("req/C-41/unresolvable", func(t *testing.T) {
		for _, ref := range []string{"https://example.com/s.json", "#/nowhere", "other.json", "https://json-schema.org/draft/2099-01/schema"} {
			it := newSchema(`{"type":"object","properties":{"a":{"$ref":"` + ref + `"}},"required":["a"]}`)
			if it.Unvalidated() == nil || it.Validate([]byte(`{}`)) != nil {
				t.Errorf("%s was followed", ref)
			}
		}
	})
}

func TestSchemaBombs(t *testing.T) {
	var doubling strings.Builder
	for i := range 40 {
		fmt.Fprintf(&doubling, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	var wide []string
	for i := range 10_000 {
		wide = append(wide, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
	}
	deepArgs := strings.Repeat(`{"x":`, 300) + "1" + strings.Repeat("}", 300)
	for id, tt := range map[string]struct{ schema, args string }{
		"doubling":      {`{"type":"object","$ref":"#/$defs/a0","$defs":{` + doubling.String() + `"a40":{"minProperties":1}}}`, `{}`},
		"self":          {`{"type":"object","$ref":"#"}`, `{}`},
		"circle":        {`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `{}`},
		"tree":          {`{"type":"object","properties":{"x":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, deepArgs},
		"regexp":        {`{"type":"object","properties":{"x":{"pattern":"` + strings.Repeat("(a{500}){2}", 500) + `"}}}`, `{"x":"` + strings.Repeat("a", 1<<20) + `"}`},
		"backtracking":  {`{"type":"object","properties":{"x":{"pattern":"^(a+)+$"}}}`, `{"x":"` + strings.Repeat("a", 1<<16) + `!"}`},
		"wide":          {`{"type":"object","properties":{` + strings.Join(wide, ",") + `}}`, `{"p1":1}`},
		"huge":          {`{"type":"object","description":"` + strings.Repeat("x", 1<<20) + `","required":["a"]}`, `{}`},
		"deep":          {`{"type":"object","not":` + strings.Repeat(`{"not":`, 900) + `{}` + strings.Repeat("}", 900) + `}`, `{}`},
		"exponent":      {`{"type":"object","properties":{"x":{"maximum":1e999999999,"multipleOf":1e-999999999}}}`, `{"x":1e999999998}`},
		"remote":        {`{"type":"object","$ref":"http://127.0.0.1:1/x"}`, `{}`},
		"unevaluated":   {`{"type":"object","unevaluatedProperties":{"$ref":"#"},"anyOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}],"$defs":{"n":{"properties":{"x":{"$ref":"#"}}}}}`, deepArgs},
		"many problems": {`{"type":"object","additionalProperties":{"type":"string"}}`, `{` + strings.Repeat(`"a":1,`, 1) + numberedMembers(5_000) + `}`},
	} {
		t.Run("fault/T26/"+id, func(t *testing.T) {
			it := newSchema(tt.schema)
			err := it.Unvalidated()
			if n := len(it.Validate([]byte(tt.args))); n > maxViolations {
				t.Errorf("%d violations", n)
			}
			if err == nil {
				value, _ := decode([]byte(tt.args))
				e := &evaluation{doc: it.rules.doc}
				e.check(e.doc.root, value, nil, nil, true)
				endless := slices.Contains([]string{"doubling", "tree", "self", "circle", "unevaluated"}, id)
				if e.spent != endless || e.depth != 0 || len(e.scope) != 0 {
					t.Errorf("spent %v after %d steps, left at depth %d", e.spent, e.steps, e.depth)
				}
			}
			if over := id == "huge" || id == "deep" || id == "wide" || id == "remote"; over != (err != nil) {
				t.Errorf("over the budget: %v", err)
			}
		})
	}
	t.Run("fault/P12", func(t *testing.T) {
		it := newSchema(`{"type":"object","properties":{"x":{"pattern":"(?=look)","type":"string"}}}`)
		if it.Validate([]byte(`{"x":"anything"}`)) != nil || it.Validate([]byte(`{"x":1}`)) == nil {
			t.Error("a pattern that is not ours to judge changes the rest")
		}
	})
}

func BenchmarkValidate(b *testing.B) {
	it := newSchema(`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer","minimum":1}},"required":["path"],"additionalProperties":false}`)
	args := []byte(`{"path":"/some/where","n":3}`)
	b.ReportAllocs()
	for b.Loop() {
		if it.Validate(args) != nil {
			b.Fatal("refused")
		}
	}
}

func numberedMembers(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"k%d":%d`, i, i))
	}
	return strings.Join(all, ",")
}

func equalTo(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
