package jsonschema

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestCostOfPatterns uses schemas with many patterns, each of which is within
// the limit of one.
func TestCostOfPatterns(t *testing.T) {
	many := func(n int, format string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return strings.Join(all, ",")
	}
	const large = "(abcdefghijklmnopqrst){1,800}"
	for name, schema := range map[string]string{
		"patternProperties": `{"patternProperties":{` + many(100, `"`+large+`%d":{}`) + `}}`,
		"and more":          `{"patternProperties":{` + many(2500, `"`+large+`%d":{}`) + `}}`,
		"pattern":           `{"properties":{` + many(100, `"p%d":{"pattern":"`+large+`"}`) + `}}`,
		"of references":     `{"$ref":"#/x/0","x":[{"allOf":[` + many(100, `{"$id":"s:%d","pattern":"`+large+`"}`) + `]}]}`,
		"letters":           `{"allOf":[` + many(2000, `{"pattern":"\\pL\\pL\\pL%d"}`) + `]}`,
		"any case":          `{"allOf":[` + many(20, `{"pattern":"(?i)[B-\\x{1e94%02x}][C-\\x{1e942}]"}`) + `]}`,
		"not for RE2":       `{"allOf":[` + many(100, `{"pattern":"`+strings.Repeat(`\\PN`, 100)+`(?=%d)"}`) + `]}`,
	} {
		t.Run("door/13 "+name, func(t *testing.T) {
			it := newSchema(schema)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := it.Unvalidated()
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 15<<20+100*uint64(len(schema)) {
				t.Errorf("%d bytes of schema took %d bytes of memory", len(schema), n)
			}
			if err == nil || !strings.Contains(err.Error(), "patterns") {
				t.Errorf("over the budget: %v", err)
			}
			if it.Validate([]byte(`{"x":1}`)) != nil {
				t.Error("it refuses arguments")
			}
		})
	}
	t.Run("door/13 usual", func(t *testing.T) {
		it := newSchema(`{"properties":{` + many(150, `"p%d":{"type":"string","pattern":"^[A-Za-z][A-Za-z0-9_.-]{0,63}$"}`) + `}}`)
		if err := it.Unvalidated(); err != nil {
			t.Error(err)
		}
		if it.Validate([]byte(`{"p149":"-"}`)) == nil || it.Validate([]byte(`{"p149":"a"}`)) != nil {
			t.Error("a pattern is not checked")
		}
	})
}

// TestPatternThatCannotBeChecked uses a pattern that ECMAScript has and RE2 does
// not. The members that it may be for are accepted.
func TestPatternThatCannotBeChecked(t *testing.T) {
	it := newSchema(`{"properties":{"n":{"type":"integer"}},"patternProperties":{"^(?=x)":{}},"additionalProperties":false,"unevaluatedProperties":false}`)
	if err := it.Validate([]byte(`{"n":1,"x1":true}`)); err != nil {
		t.Errorf("a member that may match: %v", err)
	}
	if it.Validate([]byte(`{"n":"one"}`)) == nil {
		t.Error("a member of properties is not checked")
	}
}
