package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config/problem"
)

// TestExamplesAreRight writes a value of the wrong type for every key that wants
// a list or an object, and then the example of the error, which is accepted.
func TestExamplesAreRight(t *testing.T) {
	seen := 0
	for _, f := range fieldsOf(reflect.TypeFor[Config]()) {
		switch f.typ.Kind() {
		case reflect.Slice, reflect.Map, reflect.Struct:
		default:
			continue
		}
		text := func(value string) []byte {
			return fmt.Appendf(nil, `{"mcpServers": {}, %q: %s}`, f.name, value)
		}
		_, err := Check("", text("true"), LoadOptions{})
		load, ok := err.(*problem.LoadError)
		if !ok {
			continue // another program reads it
		}
		for _, p := range load.Problems {
			example, found := strings.CutPrefix(p.Hint, "write it as ")
			if p.Code != problem.WrongType || !found {
				continue
			}
			if _, err := Check("", text(example), LoadOptions{}); err != nil {
				t.Errorf("%s: %s: %v", f.name, example, err)
			}
			seen++
		}
	}
	if seen < 15 {
		t.Errorf("only %d keys have an example", seen)
	}
}
