package catalog

import (
	"fmt"
	"strings"
	"testing"
)

func schemaItem(schema string) *Item {
	it := newItem(Tools, []byte(`{"name":"t","inputSchema":`+schema+`}`))
	return &it
}

func TestMissingRequired(t *testing.T) {
	it := schemaItem(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query","n\u0041"]}`)
	for _, tt := range []struct {
		id, args, param string
		missing         bool
	}{
		{"req/C-9/absent", "", "", true},
		{"req/C-9/null", "null", "", true},
		{"req/C-9/empty", "{}", "query", true},
		{"req/C-9/second", `{"query":null}`, "nA", true},
		{"req/C-9/all", `{"x":1,"n\u0041":2,"qu\u0065ry":"q"}`, "", false},
		{"req/C-9/nested", `{"x":{"query":1,"nA":1}}`, "query", true},
	} {
		t.Run(tt.id, func(t *testing.T) {
			param, missing := it.MissingRequired([]byte(tt.args))
			if param != tt.param || missing != tt.missing {
				t.Errorf("got %q, %v", param, missing)
			}
		})
	}
	t.Run("req/C-9/nothing-required", func(t *testing.T) {
		if _, missing := schemaItem(`{"type":"object"}`).MissingRequired(nil); missing {
			t.Error("arguments are demanded")
		}
	})
	t.Run("many", func(t *testing.T) {
		var names, args []string
		for i := range 500 {
			names = append(names, fmt.Sprintf(`"p%d"`, i))
			args = append(args, fmt.Sprintf(`"p%d":0`, i))
		}
		it := schemaItem(`{"type":"object","required":[` + strings.Join(names, ",") + `]}`)
		if param, missing := it.MissingRequired([]byte("{" + strings.Join(args, ",") + "}")); missing {
			t.Errorf("%s is missing", param)
		}
		if param, missing := it.MissingRequired([]byte("{" + strings.Join(args[:499], ",") + "}")); !missing || param != "p499" {
			t.Errorf("%q, %v", param, missing)
		}
	})
}

func manyNumbers(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"k%d":%d`, i, i))
	}
	return strings.Join(all, ",")
}
