package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestJoinCompletions(t *testing.T) {
	many := make([]string, 99)
	for i := range many {
		many[i] = fmt.Sprintf(`"v%d"`, i)
	}
	list := func(values string) string { return `{"completion":{"values":[` + values + `],"total":3}}` }
	for name, tt := range map[string]struct {
		results []string
		count   int
		more    bool
		first   string
	}{
		"none":        {nil, 0, false, ""},
		"two":         {[]string{list(`"a","b"`), list(`"b","c"`)}, 3, false, "a"},
		"one broken":  {[]string{list(`1`), list(`"b"`)}, 1, false, "b"},
		"one of many": {[]string{list(`"a"`), `{"completion":{"values":["b"],"hasMore":true}}`}, 2, true, "a"},
		"too many":    {[]string{list(strings.Join(many, ",")), list(`"a","b"`)}, 100, true, "v0"},
	} {
		t.Run(name, func(t *testing.T) {
			var raw [][]byte
			for _, r := range tt.results {
				raw = append(raw, []byte(r))
			}
			var got struct {
				Completion struct {
					Values  []string
					HasMore bool
				}
			}
			joined := catalog.JoinCompletions(raw)
			must.Parse(t, joined, &got)
			c := got.Completion
			if len(c.Values) != tt.count || c.HasMore != tt.more || tt.count > 0 && c.Values[0] != tt.first {
				t.Errorf("%s", joined)
			}
		})
	}
	if one := `{"completion":{"values":["a"],"total":7},"x":1}`; string(catalog.JoinCompletions([][]byte{[]byte(one)})) != one {
		t.Error("the only result is not passed as it is")
	}
}
