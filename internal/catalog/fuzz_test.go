package catalog

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
)

// fault/T40
//
// FuzzName: for any names of servers and tools, every listed name is valid and
// unique, leads back to its tool, and does not depend on the order of arrival.
func FuzzName(f *testing.F) {
	f.Add("a", "b__c", "a__b", "c")
	f.Add("a.b", "x", "a_b", "x")
	f.Add("时间", "get", "日期", "get")
	f.Add(strings.Repeat("s", 80), strings.Repeat("t", 80), strings.Repeat("s", 81), strings.Repeat("t", 80))
	f.Add("s", "x\x1b[2J", "s2", "ansi_\u202e")
	f.Add("a", "x.y", "a", "x/y")
	f.Fuzz(func(t *testing.T, server1, tool1, server2, tool2 string) {
		source := func(name string, tools ...string) Source {
			var all []string
			for _, n := range tools {
				raw, _ := json.Marshal(n)
				all = append(all, `{"name":`+string(raw)+`,"inputSchema":{"type":"object"}}`)
			}
			items, _ := ParseTools(page("tools", all...))
			return Source{Server: name, Features: &Features{Tools: items}}
		}
		sources := []Source{source(server1, tool1, tool2, tool1+"_", "x"), source(server2, tool2, tool1, "y")}
		if server1 == server2 {
			sources = sources[:1]
		}
		c := Merge(sources, Options{})
		reversed := slices.Clone(sources)
		slices.Reverse(reversed)
		back := Merge(reversed, Options{})
		had := make(map[string]bool)
		for _, e := range c.tools().order {
			if !safe.MatchString(e.listed) {
				t.Errorf("%q of %q is listed as %q", e.item.Key, c.sources[e.source].Server, e.listed)
			}
			if had[e.listed] {
				t.Errorf("%q is listed twice", e.listed)
			}
			had[e.listed] = true
			for _, in := range []*Catalog{c, back} {
				ref, miss := in.Tool(e.listed)
				if miss != nil || ref.Server != c.sources[e.source].Server || ref.Name != e.item.Key {
					t.Errorf("%q leads to %+v, %+v; want %q of %q", e.listed, ref, miss, e.item.Key, c.sources[e.source].Server)
				}
			}
		}
	})
}

// FuzzMerge: no item that a server can send breaks the lists.
func FuzzMerge(f *testing.F) {
	f.Add([]byte(tool("a", "b")))
	f.Add([]byte(`{"name":"x","inputSchema":{"type":"object","properties":{"a":{"x-mcp-header":"H","type":"string"}}},"icons":[{"src":"x:"}]}`))
	f.Add([]byte(`{"uri":"a:b","name":7,"uriTemplate":"a:{b}"}`))
	f.Add([]byte(`{"name":"p","arguments":[{"name":"a"}],"annotations":{"title":"\u202e"}}`))
	f.Add([]byte(`[{"name":`))
	f.Fuzz(func(t *testing.T, item []byte) {
		f := &Features{Capabilities: item}
		f.Tools, _ = ParseTools(page("tools", string(item), tool("fixed", "")))
		f.Prompts, _ = ParsePrompts(page("prompts", string(item)))
		f.Resources, _ = ParseResources(page("resources", string(item)))
		f.Templates, _ = ParseTemplates(page("resourceTemplates", string(item)))
		c := Merge([]Source{{Server: "s", Features: f}, {Server: "s.2", Features: f}}, Options{})
		for _, v := range []View{{}, {Modern: true, UI: true}, {Version: "2024-11-05"}} {
			for _, k := range []Kind{Tools, Prompts, Resources, Templates} {
				if list := c.List(k, v); !jsonrpc.Valid(list) {
					t.Errorf("%s", list)
				}
			}
		}
		for i := range f.Tools {
			it := &f.Tools[i]
			it.Validate([]byte(`{"a":[1,{"b":null}]}`))
			it.MissingRequired([]byte(`{}`))
			InvalidHeaders(it)
			Declaration(it, it.Key, it.Description)
		}
		c.Search("fixed a", View{}, 5)
		c.Outline(View{}, 100)
		c.Resource("a:c")
		c.Completion(item)
		c.RewriteURIs("s", item)
	})
}

func FuzzCursor(f *testing.F) {
	c := Merge([]Source{server("s", manyTools(30)...)}, Options{})
	f.Add("", 10)
	f.Add(encodeCursor(epochOf(c.List(Tools, View{})), 10), 10)
	f.Add(encodeCursor(0, 1<<63), -1)
	f.Fuzz(func(t *testing.T, cursor string, size int) {
		raw, err := c.Page(Tools, View{}, cursor, size)
		if err == nil && !jsonrpc.Valid(raw) {
			t.Errorf("%s", raw)
		}
		if epoch, offset, ok := decodeCursor(cursor); ok && encodeCursor(epoch, offset) != cursor {
			t.Errorf("%q is written as %q", cursor, encodeCursor(epoch, offset))
		}
	})
}
