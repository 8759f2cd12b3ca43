package catalog

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestParseWithholds(t *testing.T) {
	good := tool("good", "stays")
	for _, tt := range []struct{ id, bad, says string }{
		{"corpus/U10/absent", `{"name":"bad"}`, "inputSchema"},
		{"corpus/U10/null", `{"name":"bad","inputSchema":null}`, "inputSchema"},
		{"corpus/U10/string", `{"name":"bad","inputSchema":"object"}`, "inputSchema"},
		{"corpus/U10/type", `{"name":"bad","inputSchema":{"type":"string"}}`, "inputSchema"},
		{"corpus/U10/types", `{"name":"bad","inputSchema":{"type":["object"]}}`, "inputSchema"},
		{"corpus/U10/no-type", `{"name":"bad","inputSchema":{}}`, "inputSchema"},
		{"corpus/U10/required", `{"name":"bad","inputSchema":{"type":"object","required":true}}`, "required"},
		{"corpus/U10/properties", `{"name":"bad","inputSchema":{"type":"object","properties":{"a":1}}}`, "argument"},
		{"corpus/U11/empty", `{"name":"","inputSchema":{"type":"object"}}`, "empty"},
		{"corpus/U11/blank", `{"name":" \t","inputSchema":{"type":"object"}}`, "empty"},
		{"corpus/U11/number", `{"name":7,"inputSchema":{"type":"object"}}`, "name"},
		{"corpus/U11/absent", `{"inputSchema":{"type":"object"}}`, "name"},
		{"corpus/U11/dup", good, "same name"},
		{"fault/T36/two-names", `{"name":"good2","name":"evil","inputSchema":{"type":"object"}}`, "twice"},
		{"fault/T36/two-names-far-apart", `{"name":"good2",` + manyNumbers(40) + `,"name":"evil","inputSchema":{"type":"object"}}`, "twice"},
		{"corpus/U11/not-an-object", `[1]`, "object"},
		{"corpus/U11/null-item", `null`, "object"},
		{"corpus/U11/bad-utf8", "{\"name\":\"bad\",\"description\":\"\xff\",\"inputSchema\":{\"type\":\"object\"}}", "object"},
		{"corpus/U11/bad-escape", `{"name":"bad","description":"\q","inputSchema":{"type":"object"}}`, "object"},
		{"corpus/U11/deep", `{"name":"bad","x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, "object"},
	} {
		t.Run(tt.id, func(t *testing.T) {
			items, issues := ParseTools(page("tools", good, tt.bad, tool("other", "")))
			var keys []string
			for _, it := range items {
				keys = append(keys, it.Key)
			}
			equalTo(t, []string{"good", "other"}, keys)
			if len(issues) != 1 || !issues[0].Withheld || !strings.Contains(issues[0].Detail.String(), tt.says) {
				t.Errorf("issues: %+v", issues)
			}
		})
	}
}

func TestParseMends(t *testing.T) {
	const head, tail = `{"name":"n","inputSchema":{"type":"object"}`, `}`
	for _, tt := range []struct {
		id, in, out string
		issues      int
	}{
		{"valid", head + `,"description":"d","execution":{},"x-vendor":[1, 2]` + tail, head + `,"description":"d","execution":{},"x-vendor":[1, 2]` + tail, 0},
		{"nulls", head + `,"description":null,"title":null,"annotations":null,"outputSchema":null,"_meta":null,"icons":null` + tail, head + tail, 0},
		{"wrong types", head + `,"description":7,"_meta":[]` + tail, head + tail, 2},
		{"hints", head + `,"annotations":{"readOnlyHint":"yes","openWorldHint":true}` + tail, head + `,"annotations":{"openWorldHint":true}` + tail, 1},
		{"corpus/U15", head + `,"icons":[{"src":"javascript:alert(1)"},{"src":"https://a/b.png"},{"src":"file:///etc/passwd"},{"src":"data:image/png;base64,AA=="}]` + tail,
			head + `,"icons":[{"src":"https://a/b.png"},{"src":"data:image/png;base64,AA=="}]` + tail, 2},
		{"empty map", `{"name":"n","inputSchema":{"type":"object","properties":[],"required":null}}`, `{"name":"n","inputSchema":{"type":"object","properties":{}}}`, 1},
		{"boolean schemas", `{"name":"n","inputSchema":{"type":"object","properties":{"a":true,"b":false}}}`,
			`{"name":"n","inputSchema":{"type":"object","properties":{"a":{},"b":{"not":{}}}}}`, 0},
		{"line breaks", "{\n\"name\":\"n\",\r\n \"inputSchema\": {\"type\":\"object\"}}", head + tail, 0},
	} {
		t.Run(tt.id, func(t *testing.T) {
			items, issues := ParseTools(page("tools", tt.in))
			if len(items) != 1 {
				t.Fatalf("withheld: %+v", issues)
			}
			equalTo(t, tt.out, string(items[0].Raw))
			if len(issues) != tt.issues {
				t.Errorf("issues: %+v", issues)
			}
		})
	}
	t.Run("corpus/U14", func(t *testing.T) {
		items, issues := ParseTools(page("tools", `{"name":"n","inputSchema":{"type":"object","properties":{"a":{"$ref":"http://169.254.169.254/x"}}}}`))
		if len(items) != 1 || len(issues) != 1 || !strings.Contains(issues[0].Detail.String(), "169.254.169.254") {
			t.Fatalf("items %d, issues %+v", len(items), issues)
		}
		if items[0].Unvalidated() == nil || items[0].Validate([]byte(`{"a":1}`)) != nil {
			t.Error("arguments were validated without the schema")
		}
	})
	t.Run("prompts", func(t *testing.T) {
		items, issues := ParsePrompts(page("prompts", `{"name":"a","arguments":[{"name":"x","description":null}]}`, `{"name":"b","arguments":[{}]}`, `{"name":"c","arguments":["x"]}`))
		if len(items) != 1 || len(issues) != 2 {
			t.Fatalf("items %d, issues %+v", len(items), issues)
		}
		equalTo(t, `{"name":"a","arguments":[{"name":"x"}]}`, string(items[0].Raw))
	})
	t.Run("resources", func(t *testing.T) {
		items, issues := ParseResources(page("resources", `{"uri":"a:b","size":"9"}`, `{"name":"x"}`))
		if len(items) != 1 || len(issues) != 3 {
			t.Fatalf("items %d, issues %+v", len(items), issues)
		}
		equalTo(t, `{"uri":"a:b","name":"a:b"}`, string(items[0].Raw))
	})
}

func TestParsePages(t *testing.T) {
	for _, tt := range []struct {
		id    string
		pages [][]byte
		items int
		bad   int
	}{
		{"none", nil, 0, 0},
		{"empty list", page("tools"), 0, 0},
		{"two pages", append(page("tools", tool("a", "")), page("tools", tool("b", ""))...), 2, 0},
		{"same page twice", append(page("tools", tool("a", "")), page("tools", tool("a", ""))...), 1, 1},
		{"no list", [][]byte{[]byte(`{}`)}, 0, 1},
		{"list is null", [][]byte{[]byte(`{"tools":null}`)}, 0, 1},
		{"not JSON", [][]byte{[]byte(`<html>`)}, 0, 1},
		{"nothing", [][]byte{{}}, 0, 1},
		{"cut off", [][]byte{[]byte(`{"tools":[` + tool("a", "") + `,{"name`)}, 0, 1},
	} {
		t.Run("corpus/U09/"+tt.id, func(t *testing.T) {
			items, issues := ParseTools(tt.pages)
			if len(items) != tt.items || len(issues) != tt.bad {
				t.Errorf("%d items, issues %+v", len(items), issues)
			}
		})
	}
	t.Run("the page is copied", func(t *testing.T) {
		pages := page("tools", tool("a", "b"))
		items, _ := ParseTools(pages)
		clear(pages[0])
		equalTo(t, tool("a", "b"), string(items[0].Raw))
	})
}

func TestHeaders(t *testing.T) {
	wrap := func(props string) Item {
		items, issues := ParseTools(page("tools", `{"name":"n","inputSchema":{"type":"object","properties":`+props+`}}`))
		if len(items) != 1 {
			t.Fatalf("%s: %+v", props, issues)
		}
		return items[0]
	}
	for _, tt := range []struct {
		props string
		want  []HeaderParam
	}{
		{`{"region":{"type":"string","x-mcp-header":"Region"}}`, []HeaderParam{{[]string{"region"}, "Region"}}},
		{`{"a":{"type":"object","properties":{"b":{"type":"integer","x-mcp-header":"B"},"c":{"type":"boolean","x-mcp-header":"C"}}}}`,
			[]HeaderParam{{[]string{"a", "b"}, "B"}, {[]string{"a", "c"}, "C"}}},
		{`{"a":{"type":"string"}}`, nil},
		{`{"x-mcp-header":{"type":"string"}}`, nil},
	} {
		t.Run("bridge/H13/"+tt.props, func(t *testing.T) {
			it := wrap(tt.props)
			if err := InvalidHeaders(&it); err != nil {
				t.Error(err)
			}
			equalTo(t, tt.want, HeaderParams(&it))
		})
	}
	for id, props := range map[string]string{
		"empty":     `{"a":{"type":"string","x-mcp-header":""}}`,
		"CR":        `{"a":{"type":"string","x-mcp-header":"A\r\nB"}}`,
		"space":     `{"a":{"type":"string","x-mcp-header":"A B"}}`,
		"colon":     `{"a":{"type":"string","x-mcp-header":"A:B"}}`,
		"non-ASCII": `{"a":{"type":"string","x-mcp-header":"Région"}}`,
		"no string": `{"a":{"type":"string","x-mcp-header":7}}`,
		"duplicate": `{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}`,
		"number":    `{"a":{"type":"number","x-mcp-header":"A"}}`,
		"object":    `{"a":{"type":"object","x-mcp-header":"A"}}`,
		"no type":   `{"a":{"x-mcp-header":"A"}}`,
		"items":     `{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}`,
		"anyOf":     `{"a":{"anyOf":[{"type":"string","x-mcp-header":"A"}]}}`,
	} {
		t.Run("corpus/U13/"+id, func(t *testing.T) {
			it := wrap(props)
			if InvalidHeaders(&it) == nil || HeaderParams(&it) != nil {
				t.Errorf("%s passes", props)
			}
			kept, issues := DropInvalidHeaders([]Item{it, wrap(`{}`)})
			if len(kept) != 1 || len(issues) != 1 || !issues[0].Withheld {
				t.Errorf("kept %d, issues %+v", len(kept), issues)
			}
		})
	}
}

// TestCostOfListing lists tools whose schemas cost much to compile. Only a call
// compiles them.
func TestCostOfListing(t *testing.T) {
	var all []string
	for i := range 500 {
		all = append(all, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://json-schema.org/draft/2020-12/schema"},"b":{"pattern":"(abcdefghijklmnopqrst){1,800}"}}}}`, i))
	}
	list := page("tools", all...)
	before := heap()
	items, issues := ParseTools(list)
	if n := heap() - before; n > 100*len(list[0]) {
		t.Errorf("door/13: a list of %d bytes takes %d bytes of memory", len(list[0]), n)
	}
	if len(items) != len(all) || len(issues) > 0 {
		t.Errorf("%d of %d are listed: %v", len(items), len(all), issues)
	}
	if items[9].Validate([]byte(`{"b":"x"}`)) == nil {
		t.Error("a call is not checked")
	}
	runtime.KeepAlive(items)
}
