package jsonschema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"runtime"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// TestCostOfNumbers validates short numbers that are long when expanded, and
// long ones, with every keyword that compares numbers.
func TestCostOfNumbers(t *testing.T) {
	const size = 256 << 10
	var unique strings.Builder
	for i := 0; unique.Len() < size; i++ {
		fmt.Fprintf(&unique, ",%de990", 100+i)
	}
	short := unique.String()[1:]
	long := strings.Repeat("7", size)
	many := func(schema string) string { return `{"allOf":[` + strings.Repeat(schema+",", 3000) + schema + `]}` }
	nested := strings.Repeat("[0,", 900) + short + strings.Repeat("]", 900)
	for name, tt := range map[string]struct{ schema, value string }{
		"unique":                {`{"uniqueItems":true}`, "[" + short + "]"},
		"unique lists":          {`{"uniqueItems":true}`, "[[" + short + "]]"},
		"unique at each level":  {`{"uniqueItems":true,"items":{"$ref":"#/properties/x"}}`, nested},
		"contains":              {`{"contains":{"const":1e-990}}`, "[" + short + "]"},
		"enum":                  {`{"items":{"enum":[5e-990,123e990]}}`, "[" + short + "]"},
		"enum of lists":         {many(`{"enum":[[1]]}`), "[" + short + "]"},
		"const":                 {`{"items":{"const":1e999}}`, "[" + short + "]"},
		"minimum":               {`{"items":{"minimum":1e-999}}`, "[" + short + "]"},
		"maximum":               {`{"items":{"maximum":1e999}}`, "[" + short + "]"},
		"multipleOf":            {`{"items":{"multipleOf":3e-999}}`, "[" + short + "]"},
		"type":                  {`{"items":{"type":"integer"}}`, "[" + short + "]"},
		"not":                   {many(`{"not":{}}`), "[" + short + "]"},
		"long unique":           {`{"uniqueItems":true}`, "[" + long + "," + long + ".5]"},
		"long minimum":          {`{"minimum":1}`, long},
		"long maximum":          {many(`{"maximum":1.5}`), long},
		"long multipleOf":       {`{"multipleOf":7}`, long},
		"long fraction":         {`{"type":"integer"}`, "1." + long},
		"long const":            {many(`{"const":1}`), long},
		"exponent":              {`{"maximum":1e99999999999999999999}`, "1e99999999999999999998"},
		"long multipleOf bound": {`{"multipleOf":` + strings.Repeat("3", 500_000) + `}`, long},
		"long text":             {many(`{"minLength":1}`), `"` + long + `"`},
		"many members":          {many(`{"properties":{"a":{}}}`), "{" + numberedMembers(100_000) + "}"},
	} {
		t.Run("door/13 "+name, func(t *testing.T) {
			it := newSchema(`{"type":"object","properties":{"x":` + tt.schema + `}}`)
			must.OK(t, it.Unvalidated())
			args := []byte(`{"x":` + tt.value + `}`)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			it.Validate(args)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20+100*uint64(len(args)) {
				t.Errorf("%d bytes of arguments took %d bytes of memory", len(args), n)
			}
		})
	}
}

// TestDecimal compares decimals with the rationals of the standard library.
func TestDecimal(t *testing.T) {
	numbers := []string{"0", "-0", "0.0", "0e5", "1", "-1", "1.0", "10", "1e1", "100e-1", "0.1", "1e-1", "12.5", "125e-1", "-12.50", "3", "0.3", "300",
		"1e21", "1000000000000000000000", "9007199254740993", "9007199254740992", "123e20", "1.23e22", "1E+2", "0.00100", "7e-3", "99", "990e-1", "2e-8", "12391239123"}
	for _, a := range numbers {
		x, _ := new(big.Rat).SetString(a)
		da := decimalOf(json.Number(a))
		if da.whole() != x.IsInt() {
			t.Errorf("%s is whole: %v", a, da.whole())
		}
		for _, b := range numbers {
			y, _ := new(big.Rat).SetString(b)
			db := decimalOf(json.Number(b))
			if got, want := da.compare(db), x.Cmp(y); got != want {
				t.Errorf("%s against %s: %d, want %d", a, b, got, want)
			}
			if same := string(da.append(nil)) == string(db.append(nil)); same != (x.Cmp(y) == 0) {
				t.Errorf("%s and %s are written alike: %v", a, b, same)
			}
			if y.Sign() > 0 && da.multipleOf(db) != new(big.Rat).Quo(x, y).IsInt() {
				t.Errorf("%s is a multiple of %s: %v", a, b, da.multipleOf(db))
			}
		}
	}
}
