package catalog

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

func resourceCatalog() *Catalog {
	all := []string{resourceItem("file:///a%20b?x=1#f"), resourceItem("example://test/resource1")}
	return Merge([]Source{
		withResources(server("first"), all, []string{templateItem("example://test/{id}"), templateItem("example://test/{category}/{id}")}),
		withResources(server("Zweiter_Server"), all, []string{templateItem("example://test/{id}"), templateItem("doc:{+path}{?v}")}),
		{Server: "down", State: "starting"},
		{Server: "no-resources", Features: &Features{Capabilities: []byte(`{"tools":{}}`)}},
	}, Options{})
}

func TestResourceCollision(t *testing.T) {
	c := resourceCatalog()
	items := listed(t, c, Resources, View{})
	t.Run("req/C-22", func(t *testing.T) {
		equalTo(t, 4, len(items))
		equalTo(t, "file:///a%20b?x=1#f", items[0].URI)
		equalTo(t, "[first] d", items[0].Description)
		alias := items[2].URI
		u, err := url.Parse(alias)
		if err != nil || u.Scheme != "file" {
			t.Fatalf("%q is not a URI: %v", alias, err)
		}
		equalTo(t, alias, u.String())
		ref, miss := c.Resource(alias)
		if miss != nil || ref.Server != "Zweiter_Server" || ref.Name != "file:///a%20b?x=1#f" || ref.Listed != alias {
			t.Errorf("the alias leads to %+v, %+v", ref, miss)
		}
	})
	t.Run("bridge/H5", func(t *testing.T) {
		for _, it := range items {
			ref, miss := c.Resource(it.URI)
			if miss != nil {
				t.Fatalf("%s: %+v", it.URI, miss)
			}
			equalTo(t, it.URI, c.OutURI(ref.Server, ref.Name))
			if server, own, ok := c.InURI(it.URI); ok {
				equalTo(t, ref.Server, server)
				equalTo(t, ref.Name, own)
			}
		}
		equalTo(t, "unlisted:x", c.OutURI("Zweiter_Server", "unlisted:x"))
	})
	t.Run("bridge/H12", func(t *testing.T) {
		const in = `{"content":[{"type":"resource_link","uri":"example://test/resource1","n":1.0},{"type":"resource","resource":{"uri":"file:///a%20b?x=1#f","text":"t"}},{"type":"text","text":"example://test/resource1"}],"contents":[{"uri":"other:1"},{"uri":"example://test/resource1"}],"messages":[{"role":"user","content":{"type":"resource_link","uri":"example://test/resource1"}}]}`
		a, b := items[3].URI, items[2].URI
		want := `{"content":[{"type":"resource_link","uri":"` + a + `","n":1.0},{"type":"resource","resource":{"uri":"` + b + `","text":"t"}},{"type":"text","text":"example://test/resource1"}],"contents":[{"uri":"other:1"},{"uri":"` + a + `"}],"messages":[{"role":"user","content":{"type":"resource_link","uri":"` + a + `"}}]}`
		equalTo(t, want, string(c.RewriteURIs("Zweiter_Server", []byte(in))))
		first := []byte(in)
		if !same(c.RewriteURIs("first", first), first) {
			t.Error("the first server's result was copied")
		}
	})
}

func TestResourceLookup(t *testing.T) {
	c := resourceCatalog()
	for _, tt := range []struct{ id, uri, server, own string }{
		{"req/S001-15", "example://test/resource1", "first", "example://test/resource1"},
		{"req/C-22/prefix", "Zweiter_Server__example://test/resource1", "Zweiter_Server", "example://test/resource1"},
		{"req/C-22/prefix-unlisted", "first__some://thing", "first", "some://thing"},
		{"req/C-22/template", "example://test/42", "first", "example://test/42"},
		{"req/C-22/template-two", "example://test/books/42", "first", "example://test/books/42"},
		{"req/C-22/template-reserved", "doc:/a/b?v=2", "Zweiter_Server", "doc:/a/b?v=2"},
	} {
		t.Run(tt.id, func(t *testing.T) {
			ref, miss := c.Resource(tt.uri)
			if miss != nil || ref.Server != tt.server || ref.Name != tt.own {
				t.Errorf("got %+v, %+v", ref, miss)
			}
		})
	}
	t.Run("bridge/H5/fan-out", func(t *testing.T) {
		_, miss := c.Resource("unknown://x")
		equalTo(t, &Miss{Kind: Unknown, Candidates: []string{"first", "Zweiter_Server"}}, miss)
		_, miss = c.Resource("x:~down/y")
		equalTo(t, &Miss{Kind: ServerDown, Server: "down", State: "starting"}, miss)
		onlyFirst := func(server, _ string) bool { return server == "first" }
		_, miss = c.ResourceFor("unknown://x", onlyFirst)
		equalTo(t, &Miss{Kind: Unknown, Candidates: []string{"first"}}, miss)
	})
	t.Run("req/S001-67", func(t *testing.T) {
		src := withResources(server("s"), []string{resourceItem("file:///open"), resourceItem("file:///secret")}, []string{templateItem("file:///{x}")})
		src.Policy.Resources.Deny = []string{"*secret*"}
		c := Merge([]Source{src}, Options{})
		for _, uri := range []string{"file:///secret", "s__file:///secret", "file:///secret#~s", "file:///secret2"} {
			if ref, miss := c.Resource(uri); miss == nil || len(miss.Candidates) > 0 {
				t.Errorf("%s leads to %+v, %+v", uri, ref, miss)
			}
		}
	})
}

func TestAliasedTemplate(t *testing.T) {
	c := resourceCatalog()
	const alias = "example://~zweiter-server-" // hosts have no underscores and are case-insensitive
	var templates struct {
		ResourceTemplates []struct{ URITemplate string }
	}
	must.Parse(t, c.List(Templates, View{}), &templates)
	got := templates.ResourceTemplates[2].URITemplate
	expand := func(value string) string { return got[:len(got)-len("{id}")] + value }
	ref, miss := c.Resource(expand("a%2Fb"))
	if miss != nil || ref.Server != "Zweiter_Server" || ref.Name != "example://test/a%2Fb" {
		t.Errorf("%s leads to %+v, %+v", expand("a%2Fb"), ref, miss)
	}
	if got[:len(alias)] != alias {
		t.Errorf("alias %q", got)
	}
	t.Run("bridge/H6", func(t *testing.T) {
		server, ref, miss := c.Completion([]byte(`{"type":"ref/resource","uri":"` + got + `","x":1}`))
		if miss != nil || server != "Zweiter_Server" {
			t.Fatalf("server %q, %+v", server, miss)
		}
		equalTo(t, `{"type":"ref/resource","uri":"example://test/{id}","x":1}`, string(ref))
	})
	t.Run("req/S001-41", func(t *testing.T) {
		in := []byte(`{"type":"ref/resource","uri":"example://test/{id}"}`)
		server, ref, miss := c.Completion(in)
		if miss != nil || server != "first" || !same(ref, in) {
			t.Errorf("%q %s %+v", server, ref, miss)
		}
	})
}

func TestCompletionOfPrompt(t *testing.T) {
	prompts, _ := ParsePrompts(page("prompts", `{"name":"p"}`))
	c := Merge([]Source{{Server: "s", Features: &Features{Prompts: prompts}}}, Options{})
	for _, name := range []string{"s__p", "p"} {
		server, ref, miss := c.Completion([]byte(`{"type":"ref/prompt","name":"` + name + `","title":"t"}`))
		if miss != nil || server != "s" || string(ref) != `{"type":"ref/prompt","name":"p","title":"t"}` {
			t.Errorf("%s: %q %s %+v", name, server, ref, miss)
		}
	}
	for _, bad := range []string{`{}`, `[]`, `{"type":"ref/prompt"}`, `{"type":"ref/tool","name":"p"}`, `{"type":"ref/prompt","name":"x"}`} {
		if server, _, miss := c.Completion([]byte(bad)); miss == nil {
			t.Errorf("%s is completed by %q", bad, server)
		}
	}
}

func TestInterfaceURI(t *testing.T) {
	app := `{"name":"app","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://app"}}}`
	c := Merge([]Source{
		withResources(server("a", app), []string{resourceItem("ui://app")}, nil),
		withResources(server("b", app), []string{resourceItem("ui://app")}, nil),
	}, Options{})
	var tools struct {
		Tools []struct {
			Meta struct {
				UI struct{ ResourceURI string }
			} `json:"_meta"`
		}
	}
	must.Parse(t, c.List(Tools, View{UI: true}), &tools)
	equalTo(t, "ui://app", tools.Tools[0].Meta.UI.ResourceURI)
	equalTo(t, "ui://~b/app", tools.Tools[1].Meta.UI.ResourceURI)
}

func TestTemplateMatch(t *testing.T) {
	for _, tt := range []struct {
		template, uri string
		values        []string
	}{
		{"a://{x}/b", "a://1/b", []string{"1"}},
		{"a://{x}/b", "a://1/2/b", nil},
		{"a://{x}", "a://", nil},
		{"a://{+x}", "a://1/2?3", []string{"1/2?3"}},
		{"a://h{/p*}", "a://h/1/2", []string{"/1/2"}},
		{"a://h{/p*}", "a://h", []string{""}},
		{"a://h{.ext}", "a://h.txt", []string{".txt"}},
		{"a://h{;k}", "a://h;k=1", []string{";k=1"}},
		{"a://h{?q,r}", "a://h?q=1&r=2", []string{"?q=1&r=2"}},
		{"a://h?x=1{&q}", "a://h?x=1&q=2", []string{"&q=2"}},
		{"a://h{#f}", "a://h#top", []string{"#top"}},
		{"a://{x}.*", "a://1xx", nil},
		{"a://plain", "a://plain", nil},
		{"a://{open", "a://{open", nil},
		{"a://{}", "a://x", []string{"x"}},
	} {
		if got := (&pattern{}).match(tt.template, tt.uri); !slices.Equal(got, tt.values) {
			t.Errorf("%s in %s: %q, want %q", tt.template, tt.uri, got, tt.values)
		}
	}
	t.Run("fault/P12/template", func(t *testing.T) {
		many := "a://" + strings.Repeat("{x}{y}", 500)
		if (&pattern{}).match(many, "a://"+strings.Repeat("z", 5000)) != nil {
			t.Error("a template over the limits matches")
		}
	})
}
