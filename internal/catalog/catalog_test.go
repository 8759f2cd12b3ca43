package catalog

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/mcptest/must"
)

var safe = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// tool returns the JSON of a tool with one required string.
func tool(name, description string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}`, name, description)
}

func page(member string, items ...string) [][]byte {
	return [][]byte{[]byte(`{"` + member + `":[` + strings.Join(items, ",") + `]}`)}
}

// server returns a source that is up and has these tools.
func server(name string, tools ...string) Source {
	items, _ := ParseTools(page("tools", tools...))
	return Source{Server: name, Features: &Features{Tools: items, Capabilities: []byte(`{"tools":{},"resources":{}}`)}, State: "ready"}
}

func withResources(s Source, resources, templates []string) Source {
	s.Features.Resources, _ = ParseResources(page("resources", resources...))
	s.Features.Templates, _ = ParseTemplates(page("resourceTemplates", templates...))
	return s
}

func resourceItem(uri string) string {
	return fmt.Sprintf(`{"uri":%q,"name":"r","description":"d"}`, uri)
}

func templateItem(uri string) string { return fmt.Sprintf(`{"uriTemplate":%q,"name":"t"}`, uri) }

type listedItem struct {
	Name, Description, URI string
	InputSchema            json.RawMessage
}

func listed(t *testing.T, c *Catalog, k Kind, v View) []listedItem {
	t.Helper()
	var all map[string][]listedItem
	var raw map[string]json.RawMessage
	must.Parse(t, c.List(k, v), &raw)
	part, _ := json.Marshal(map[string]json.RawMessage{"items": raw[k.Member()]})
	must.Parse(t, part, &all)
	return all["items"]
}

func names(items []listedItem) []string {
	var all []string
	for _, it := range items {
		all = append(all, it.Name)
	}
	return all
}

func TestNamesOfTwoServices(t *testing.T) {
	const timeSchema = `{"type":"object","properties":{"timezone":{"type":"string"}},"x":9007199254740993}`
	const zhipuSchema = `{"type":"object","properties":{"query":{"type":"string"},"num_results":{"type":"number"}},"required":["query"]}`
	c := Merge([]Source{
		server("Time", `{"name":"get_current_time","description":"Get the current time in a specified timezone","inputSchema":`+timeSchema+`}`),
		server("zhipu-web-search", `{"name":"web_search","description":"Search the web using Zhipu AI","inputSchema":`+zhipuSchema+`}`),
	}, Options{})
	items := listed(t, c, Tools, View{Version: "2025-06-18"})
	want := []listedItem{
		{Name: "Time__get_current_time", Description: "[Time] Get the current time in a specified timezone", InputSchema: json.RawMessage(timeSchema)},
		{Name: "zhipu-web-search__web_search", Description: "[zhipu-web-search] Search the web using Zhipu AI", InputSchema: json.RawMessage(zhipuSchema)},
	}
	t.Run("req/S000-8", func(t *testing.T) { equalTo(t, want[0], items[0]) })
	t.Run("req/S000-9", func(t *testing.T) { equalTo(t, want[1], items[1]) })
	t.Run("req/S000-10", func(t *testing.T) { equalTo(t, string(want[0].InputSchema), string(items[0].InputSchema)) })
	t.Run("req/S000-22", func(t *testing.T) {
		equalTo(t, []string{"Time__get_current_time", "zhipu-web-search__web_search"}, names(items))
	})
	t.Run("req/S000-23", func(t *testing.T) {
		for name, own := range map[string][2]string{
			"Time__get_current_time":       {"Time", "get_current_time"},
			"zhipu-web-search__web_search": {"zhipu-web-search", "web_search"},
		} {
			ref, miss := c.Tool(name)
			if miss != nil || ref.Server != own[0] || ref.Name != own[1] {
				t.Errorf("%s leads to %+v, %+v", name, ref, miss)
			}
		}
	})
	t.Run("req/S000-27", func(t *testing.T) { equalTo(t, 2, len(items)) })
	t.Run("req/S000-14", func(t *testing.T) {
		_, miss := c.Tool("nonexistent_tool")
		equalTo(t, &Miss{Kind: Unknown}, miss)
	})
}

func equalTo(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestLookupOrder(t *testing.T) {
	c := Merge([]Source{
		server("fx", tool("a__b", ""), tool("read", ""), tool("only", "")),
		server("fx__a", tool("b", ""), tool("read", "")),
		server("my-files", tool("read_file", "")),
		server("dotted.name", tool("x", "")),
		{Server: "broken", State: "exit status 1"},
		{Server: "broken__too", State: "401"},
	}, Options{})
	for _, tt := range []struct{ name, server, own string }{
		{"fx__read", "fx", "read"},
		{"fx__a__read", "fx__a", "read"},
		{"fx__a__b", "fx", "a__b"}, // as listed
		{"fx_a_c862be__b", "fx__a", "b"},
		{"fx##read", "fx", "read"},
		{"fx-only", "fx", "only"},
		{"fx.only", "fx", "only"},
		{"my-files-read_file", "my-files", "read_file"},
		{"my-files.read_file", "my-files", "read_file"},
		{"read_file", "my-files", "read_file"},
		{"only", "fx", "only"},
		{"dotted_name__x", "dotted.name", "x"},
		{"dotted.name__x", "dotted.name", "x"},
		{"dotted.name.x", "dotted.name", "x"},
	} {
		t.Run("req/C-1/"+tt.name, func(t *testing.T) {
			ref, miss := c.Tool(tt.name)
			if miss != nil || ref.Server != tt.server || ref.Name != tt.own {
				t.Errorf("got %+v, %+v", ref, miss)
			}
		})
	}
	for name, want := range map[string]*Miss{
		"read":                 {Kind: Ambiguous, Candidates: []string{"fx__read", "fx_a_c862be__read"}},
		"fx__nothing":          {Kind: Unknown, Server: "fx", State: "ready"},
		"broken__web_search":   {Kind: ServerDown, Server: "broken", State: "exit status 1"},
		"broken__too__x":       {Kind: ServerDown, Server: "broken", State: "exit status 1"},
		"broken.x":             {Kind: ServerDown, Server: "broken", State: "exit status 1"},
		"":                     {Kind: Unknown},
		"__":                   {Kind: Unknown},
		"broken__":             {Kind: Unknown},
		"nobody__nothing__but": {Kind: Unknown},
	} {
		t.Run("req/C-7/"+name, func(t *testing.T) {
			_, miss := c.Tool(name)
			equalTo(t, want, miss)
		})
	}
	t.Run("req/S000-28", func(t *testing.T) {
		if n := c.Count(Tools, View{}); n != 7 {
			t.Errorf("%d tools listed beside two broken servers, want 7", n)
		}
	})
	t.Run("bridge/H16", func(t *testing.T) {
		if ref, miss := c.Tool("x"); miss != nil || ref.Server != "dotted.name" {
			t.Errorf("an app's own name leads to %+v, %+v", ref, miss)
		}
	})
	t.Run("fault/F26", func(t *testing.T) {
		gone := Merge([]Source{server("fx", tool("other", ""))}, Options{})
		if _, miss := gone.Tool("fx__read"); miss == nil || miss.Kind != Unknown || miss.Server != "fx" {
			t.Errorf("a tool that is gone: %+v", miss)
		}
	})
}

func TestScope(t *testing.T) {
	c := Merge([]Source{server("a", tool("read", "")), server("b", tool("read", ""))}, Options{})
	onlyB := func(server, _ string) bool { return server == "b" }
	t.Run("req/C-1/unique-in-scope", func(t *testing.T) {
		ref, miss := c.ToolFor("read", onlyB)
		if miss != nil || ref.Server != "b" {
			t.Errorf("got %+v, %+v", ref, miss)
		}
	})
	t.Run("req/S001-68", func(t *testing.T) {
		if _, miss := c.ToolFor("a__read", onlyB); miss == nil || miss.Kind != Unknown || miss.Server != "" {
			t.Errorf("a hidden tool is told of: %+v", miss)
		}
		equalTo(t, []string{"b__read"}, names(listed(t, c, Tools, View{Scope: "b", Visible: onlyB})))
		equalTo(t, []string{"b__read"}, names(listed(t, c, Tools, View{Visible: onlyB})))
		equalTo(t, 2, len(listed(t, c, Tools, View{})))
	})
}

func TestPolicy(t *testing.T) {
	off, on := false, true
	src := server("s", tool("read_a", "A"), tool("read_b", "B"), tool("write", "W"), tool("drop", "D"), tool("keep", "K"))
	src.Policy.Tools = Rules{
		Allow: []string{"read_*", "w?ite", "drop"},
		Deny:  []string{"d*"},
		Items: map[string]Override{
			"read_b": {Enabled: &off},
			"keep":   {Enabled: &on, Rename: "retain", Description: "Retains."},
		},
	}
	c := Merge([]Source{src}, Options{})
	items := listed(t, c, Tools, View{})
	equalTo(t, []string{"s__read_a", "s__write", "s__retain"}, names(items))
	equalTo(t, "[s] Retains.", items[2].Description)
	for _, name := range []string{"s__retain", "s__keep", "retain", "keep"} {
		if ref, miss := c.Tool(name); miss != nil || ref.Name != "keep" {
			t.Errorf("%s leads to %+v, %+v", name, ref, miss)
		}
	}
	t.Run("corpus/M15", func(t *testing.T) {
		if _, miss := c.Tool("s__read_b"); miss == nil || miss.Kind != Unknown {
			t.Errorf("a disabled tool: %+v", miss)
		}
	})
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true}, {"", "", true}, {"", "a", false}, {"a*c", "abbbc", true}, {"a*c", "abbb", false},
		{"*a*b*", "xxaxxbxx", true}, {"?", "é", true}, {"file:///**", "file:///x/y", true}, {"a?", "a", false},
		{strings.Repeat("*a", 40), strings.Repeat("a", 200) + "b", false},
	} {
		if got := Match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("Match(%q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
}

func TestUnprefixed(t *testing.T) {
	raw := `{ "name" : "weird name\u202e" , "x-vendor":1e400, "inputSchema":{"type":"object"} }`
	src := server("s", raw)
	src.Policy.Naming = NamingNone
	one := Merge([]Source{src}, Options{})
	equalTo(t, `{"tools":[`+raw+`]}`, string(one.List(Tools, View{Version: "2025-06-18"})))
	if ref, miss := one.Tool("weird name\u202e"); miss != nil || ref.Server != "s" {
		t.Errorf("got %+v, %+v", ref, miss)
	}
	t.Run("two with one name", func(t *testing.T) {
		a, b := server("a", tool("x", "")), server("b", tool("x", ""))
		a.Policy.Naming, b.Policy.Naming = NamingNone, NamingNone
		equalTo(t, []string{"x", "b__x"}, names(listed(t, Merge([]Source{a, b}, Options{}), Tools, View{})))
	})
}

func TestPrompts(t *testing.T) {
	prompts, issues := ParsePrompts(page("prompts", `{"name":"example_prompt","arguments":[{"name":"context","description":"c","required":true}]}`))
	equalTo(t, 0, len(issues))
	c := Merge([]Source{{Server: "example", Features: &Features{Prompts: prompts}}}, Options{})
	t.Run("req/S001-18", func(t *testing.T) {
		equalTo(t, `{"prompts":[{"name":"example__example_prompt","arguments":[{"name":"context","description":"c","required":true}],"description":"[example]"}]}`,
			string(c.List(Prompts, View{})))
	})
	for _, name := range []string{"example__example_prompt", "example_prompt", "example.example_prompt"} {
		t.Run("req/C-23/"+name, func(t *testing.T) {
			if ref, miss := c.Prompt(name); miss != nil || ref.Name != "example_prompt" {
				t.Errorf("got %+v, %+v", ref, miss)
			}
		})
	}
}

// TestOrderOfArrival merges the same servers in every order in which they may
// come up.
func TestOrderOfArrival(t *testing.T) {
	up := []Source{
		server("a", tool("b__c", ""), tool("x.y", ""), tool("x/y", ""), tool("x_y", "")),
		server("a__b", tool("c", "")),
		server("a.b", tool("c", "")),
		server("a_b", tool("c", "")),
		server("时间", tool("get", ""), tool("现在", "")),
		server("日期", tool("get", "")),
		server("long", tool(strings.Repeat("n", 5000), ""), tool(strings.Repeat("n", 5001), "")),
	}
	want := names(listed(t, Merge(up, Options{}), Tools, View{}))
	t.Run("req/C-38", func(t *testing.T) {
		for _, name := range want {
			if !safe.MatchString(name) {
				t.Errorf("%q is not a name for every client", name)
			}
		}
		if len(slices.Compact(slices.Sorted(slices.Values(want)))) != len(want) {
			t.Errorf("names collide: %q", want)
		}
		if !slices.Contains(want, "a_b__c") || !slices.Contains(want, "a__x_y") {
			t.Errorf("a name that needs no change was changed: %q", want)
		}
	})
	t.Run("fault/T36", func(t *testing.T) {
		for i := range up {
			part := slices.Clone(up)
			part[i] = Source{Server: up[i].Server}
			c := Merge(part, Options{})
			for _, name := range names(listed(t, c, Tools, View{})) {
				ref, miss := Merge(up, Options{}).Tool(name)
				was, _ := c.Tool(name)
				if miss != nil && miss.Kind != Ambiguous || miss == nil && (ref.Server != was.Server || ref.Name != was.Name) {
					t.Errorf("without %s, %q led to %s of %s; with it to %+v %+v", up[i].Server, name, was.Name, was.Server, ref, miss)
				}
			}
		}
		reversed := slices.Clone(up)
		slices.Reverse(reversed)
		got := names(listed(t, Merge(reversed, Options{}), Tools, View{}))
		equalTo(t, slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got)))
	})
}

func TestHiddenCharacters(t *testing.T) {
	items, issues := ParseTools(page("tools", `{"name":"ansi\u001b[2Jname","title":"t\u202ei","description":"a\u0000b\udb40\udc41c\u0085\r\nd\te\u200dé","inputSchema":{"type":"object"},"annotations":{"title":"x\u2066y"}}`))
	c := Merge([]Source{{Server: "s", Features: &Features{Tools: items}}}, Options{})
	t.Run("corpus/U12", func(t *testing.T) {
		equalTo(t, `{"tools":[{"name":"s__ansi_2Jname","title":"ti","description":"[s] abc\nd\te`+"\u200d"+`é","inputSchema":{"type":"object"},"annotations":{"title":"xy"}}]}`,
			string(c.List(Tools, View{})))
		if len(issues) != 1 || issues[0].Withheld {
			t.Errorf("issues: %+v", issues)
		}
	})
	t.Run("nothing is cut", func(t *testing.T) {
		long := strings.Repeat("x", 1<<20)
		c := Merge([]Source{server("s", tool("a", long))}, Options{})
		equalTo(t, len("[s] ")+len(long), len(listed(t, c, Tools, View{})[0].Description))
	})
}

func TestWithoutTools(t *testing.T) {
	src := withResources(server("s", tool("a", "")), []string{resourceItem("a:b")}, nil)
	c := Merge([]Source{src.WithoutTools(), {Server: "down"}}, Options{})
	equalTo(t, 0, c.Count(Tools, View{}))
	equalTo(t, 1, c.Count(Resources, View{}))
	equalTo(t, 1, len(src.Features.Tools))
	equalTo(t, Source{Server: "down"}, Source{Server: "down"}.WithoutTools())
}

// Adding or removing a server does not rename the tools of another one.
func TestNamesAreStable(t *testing.T) {
	names := []string{"天气", "地图", "a b", "a_b", "a.b", "fx", "fx__a", "x_", "x", "_", "weather-api", "天气api", strings.Repeat("long", 20)}
	listed := func(servers ...string) map[string]string {
		var sources []Source
		for _, name := range servers {
			sources = append(sources, server(name, tool("echo", ""), tool("a__echo", ""), tool("_echo", "")))
		}
		found := map[string]string{}
		c := Merge(sources, Options{})
		for _, e := range c.tools().order {
			found[c.sources[e.source].Server+" "+e.item.Key] = e.listed
		}
		return found
	}
	all := listed(names...)
	seen := map[string]string{}
	for key, name := range all {
		if other, twice := seen[name]; twice {
			t.Errorf("true/9 %q and %q are both %s", key, other, name)
		}
		seen[name] = key
	}
	for _, name := range names {
		t.Run("true/9 "+name, func(t *testing.T) {
			for key, alone := range listed(name) {
				if all[key] != alone {
					t.Errorf("%s is %s alone and %s among others", key, alone, all[key])
				}
				if strings.HasPrefix(alone, "_") {
					t.Errorf("%s is %s", key, alone)
				}
			}
		})
	}
}
