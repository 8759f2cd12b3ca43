package catalog

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/must"
)

// manyTools returns n tools of about a kilobyte each.
func manyTools(n int) []string {
	tools := make([]string, n)
	for i := range tools {
		tools[i] = tool("tool_"+strconv.Itoa(i), "Does thing number "+strconv.Itoa(i)+". "+strings.Repeat("More words about it. ", 40))
	}
	return tools
}

func TestManyTools(t *testing.T) {
	for id, n := range map[string]int{"req/S001-59": 1_200, "fault/F21": 10_000} {
		t.Run(id, func(t *testing.T) {
			raw := page("tools", manyTools(n)...)
			before := heap()
			start := time.Now()
			items, issues := ParseTools(raw)
			c := Merge([]Source{{Server: "big", Features: &Features{Tools: items}}}, Options{})
			list := c.List(Tools, View{})
			took := time.Since(start)
			after := heap()
			if len(issues) != 0 || c.Count(Tools, View{}) != n || !jsonrpc.Valid(list) {
				t.Fatalf("%d tools, issues %v", c.Count(Tools, View{}), issues)
			}
			if n == 1_200 && took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if used := after - before; used > 3*len(raw[0]) {
				t.Errorf("%d bytes are kept for %d bytes of tools", used, len(raw[0]))
			}
			for i := range n {
				name := "big__tool_" + strconv.Itoa(i)
				if ref, miss := c.Tool(name); miss != nil || ref.Name != "tool_"+strconv.Itoa(i) {
					t.Fatalf("%s leads to %+v, %+v", name, ref, miss)
				}
			}
			runtime.KeepAlive(raw)
		})
	}
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestPages(t *testing.T) {
	c := Merge([]Source{server("s", manyTools(25)...)}, Options{})
	t.Run("bridge/H8", func(t *testing.T) {
		for _, modern := range []bool{false, true} {
			var all []string
			cursor, pages := "", 0
			for {
				raw, err := c.Page(Tools, View{Modern: modern}, cursor, 10)
				if err != nil {
					t.Fatal(err)
				}
				var p struct {
					Tools      []listedItem
					NextCursor string
					ResultType string
				}
				must.Parse(t, raw, &p)
				if (p.ResultType == "complete") != modern {
					t.Errorf("resultType %q", p.ResultType)
				}
				all = append(all, names(p.Tools)...)
				pages++
				if cursor = p.NextCursor; cursor == "" {
					break
				}
			}
			equalTo(t, 3, pages)
			equalTo(t, names(listed(t, c, Tools, View{})), all)
		}
		for _, size := range []int{0, 25, 100} {
			whole, err := c.Page(Tools, View{}, "", size)
			if err != nil || !same(whole, c.List(Tools, View{})) {
				t.Errorf("size %d is not the one list: %v", size, err)
			}
		}
	})
	raw, _ := c.Page(Tools, View{}, "", 10)
	cursor, _ := jsonrpc.GetString(raw, "nextCursor")
	t.Run("corpus/cursor", func(t *testing.T) {
		changed := Merge([]Source{server("s", manyTools(24)...)}, Options{})
		for _, bad := range []string{"x", "====", cursor + "A", cursor[:len(cursor)-1], encodeCursor(0, 10), strings.Repeat("A", 10_000)} {
			if _, err := c.Page(Tools, View{}, bad, 10); !errors.Is(err, ErrCursor) {
				t.Errorf("cursor %.40q: %v", bad, err)
			}
		}
		if _, err := changed.Page(Tools, View{}, cursor, 10); !errors.Is(err, ErrCursor) {
			t.Errorf("a cursor of another list: %v", err)
		}
		again := Merge([]Source{server("s", manyTools(25)...)}, Options{})
		if _, err := again.Page(Tools, View{}, cursor, 10); err != nil {
			t.Errorf("a cursor of the same list, rebuilt: %v", err)
		}
	})
	t.Run("empty", func(t *testing.T) {
		none := Merge(nil, Options{})
		page, err := none.Page(Prompts, View{}, "", 10)
		if err != nil || string(page) != `{"prompts":[]}` {
			t.Errorf("%s, %v", page, err)
		}
	})
}

func TestEqual(t *testing.T) {
	a := Merge([]Source{server("s", tool("x", "1"))}, Options{})
	b := Merge([]Source{server("s", tool("x", "1"))}, Options{})
	c := Merge([]Source{server("s", tool("x", "2"))}, Options{})
	hidden := View{Scope: "none", Visible: func(string, string) bool { return false }}
	for _, tt := range []struct {
		name string
		a, b *Catalog
		v    View
		want bool
	}{
		{"same", a, a, View{}, true},
		{"rebuilt", a, b, View{}, true},
		{"changed", a, c, View{}, false},
		{"changed out of sight", a, c, hidden, true},
		{"none before", nil, a, View{}, false},
	} {
		if got := Equal(tt.a, tt.b, Tools, tt.v); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestListByVersion(t *testing.T) {
	const item = `{"name":"t","inputSchema":{"type":"object"},"outputSchema":%s,"execution":{"taskSupport":"optional"}}`
	list := func(output string, v View) string {
		s := server("s", fmt.Sprintf(item, output))
		s.Policy.Naming = NamingNone
		return string(Merge([]Source{s}, Options{Meta: []byte(`{"a":1}`)}).List(Tools, v))
	}
	array, object := `{"type":"array"}`, `{"type":"object"}`
	for _, tt := range []struct {
		id, output string
		v          View
		want       string
	}{
		{"bridge/R3/array-for-legacy", array, View{Version: "2025-11-25"}, `{"tools":[{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`},
		{"bridge/R3/object-for-legacy", object, View{Version: "2025-06-18"}, `{"tools":[` + fmt.Sprintf(item, object) + `]}`},
		{"bridge/U/modern", array, View{Version: "2026-07-28"},
			`{"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}],"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"a":1}}`},
	} {
		t.Run(tt.id, func(t *testing.T) { equalTo(t, tt.want, list(tt.output, tt.v)) })
	}
	t.Run("for interfaces only", func(t *testing.T) {
		c := Merge([]Source{server("s", `{"name":"t","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["app"]}}}`)}, Options{})
		equalTo(t, 0, c.Count(Tools, View{}))
		equalTo(t, 1, c.Count(Tools, View{UI: true}))
	})
}

func TestViewsAreBounded(t *testing.T) {
	c := Merge([]Source{server("s", tool("a", ""))}, Options{})
	first := c.List(Tools, View{})
	for i := range 10 * maxViews {
		scope := strconv.Itoa(i)
		c.List(Tools, View{Scope: scope, Visible: func(string, string) bool { return i%2 == 0 }})
		if !same(c.List(Tools, View{}), first) {
			t.Fatal("a list in use was dropped")
		}
	}
	if n := len(c.views.by); n != maxViews {
		t.Errorf("%d views are kept, want %d", n, maxViews)
	}
}

func TestAllocations(t *testing.T) {
	c := Merge([]Source{server("big", manyTools(2_000)...), server("small", tool("t", ""))}, Options{})
	v := View{Version: "2025-11-25", Scope: "s", Visible: func(string, string) bool { return true }}
	c.List(Tools, v)
	if n := testing.AllocsPerRun(100, func() { c.List(Tools, v) }); n != 0 {
		t.Errorf("a list that is kept costs %v allocations", n)
	}
	for _, name := range []string{"big__tool_1999", "big-tool_7", "tool_7"} {
		if n := testing.AllocsPerRun(100, func() {
			if _, miss := c.Tool(name); miss != nil {
				t.Fatal(miss)
			}
		}); n > 1 {
			t.Errorf("finding %s costs %v allocations", name, n)
		}
	}
	it := &c.sources[1].Features.Tools[0]
	args := []byte(`{"a":1,"q":"x"}`)
	if n := testing.AllocsPerRun(100, func() { it.MissingRequired(args) }); n > 1 {
		t.Errorf("checking what is required costs %v allocations", n)
	}
}
