package catalog

import (
	"fmt"
	"strings"
	"testing"

	"mcp-all-in-one/internal/spelling"
)

func TestTokens(t *testing.T) {
	for in, want := range map[string]string{
		"getCurrentTime":      "get current time",
		"search_issues-v2":    "search issue v2",
		"HTTPServerURL":       "http server url",
		"查询天气":                "查询 询天 天气",
		"用SQL查询":              "用 sql 查询",
		"queries matches bus": "query match bus",
		"":                    "",
		"Ünïcode çafé 9":      "ünïcode çafé 9",
	} {
		var got []string
		spelling.Terms(in, func(term string) { got = append(got, term) })
		equalTo(t, want, strings.Join(got, " "))
	}
}

func TestSearchScope(t *testing.T) {
	c := searchCatalog(t)
	notGitHub := View{Visible: func(server, _ string) bool { return server != "github" }}
	for _, h := range c.Search("search issues", notGitHub, 0) {
		if h.Server == "github" {
			t.Errorf("%s is found out of scope", h.Name)
		}
	}
	for _, query := range []string{"", " ", "zzzzqqqq", "\x00\xff"} {
		if hits := c.Search(query, View{}, 0); len(hits) != 0 {
			t.Errorf("%q finds %d tools", query, len(hits))
		}
	}
	equalTo(t, 3, len(c.Search("file", View{}, 3)))
}

// fiveThousand returns a catalogue with 5,000 different tools.
func fiveThousand() *Catalog {
	verbs := []string{"create", "delete", "list", "update", "search", "export", "import", "merge", "archive", "restore"}
	nouns := []string{"issue", "invoice", "calendar", "message", "document", "ticket", "customer", "pipeline", "dashboard", "schedule"}
	var sources []Source
	for s := range 50 {
		var tools []string
		for i, verb := range verbs {
			for j, noun := range nouns {
				tools = append(tools, fmt.Sprintf(`{"name":"%s_%s","description":"%s one %s of service%d, number w%dx%d. 查询%d","inputSchema":{"type":"object","properties":{"%sId":{"type":"string"},"limit%d":{"type":"integer"}}}}`,
					verb, noun, verb, noun, s, s*10+i, j, s, noun, s))
			}
		}
		sources = append(sources, server(fmt.Sprintf("service%d", s), tools...))
	}
	return Merge(sources, Options{})
}

var benchmarkQueries = []string{"delete invoice", "delte invoce in service7", "查询", "dashbord schedule exprt", "limit customer"}

func BenchmarkSearch5000(b *testing.B) {
	c := fiveThousand()
	c.Search("warm up", View{}, 10)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.Search(benchmarkQueries[i%len(benchmarkQueries)], View{}, 10)
	}
}

func BenchmarkSearchIndex5000(b *testing.B) {
	c := fiveThousand()
	for b.Loop() {
		newSearchIndex(c)
	}
}

func BenchmarkListCached(b *testing.B) {
	c := fiveThousand()
	b.ReportAllocs()
	for b.Loop() {
		c.List(Tools, View{Version: "2025-11-25"})
	}
}

func BenchmarkMergeAndList5000(b *testing.B) {
	c := fiveThousand()
	for b.Loop() {
		Merge(c.sources, Options{}).List(Tools, View{})
	}
}

func TestSearchManyTools(t *testing.T) {
	c := fiveThousand()
	hits := c.Search("delte invoce of service7", View{}, 5)
	if len(hits) == 0 || hits[0].Server != "service7" || hits[0].Name != "delete_invoice" {
		t.Errorf("found %+v", hits)
	}
}

func TestOutline(t *testing.T) {
	up := server("files", tool("read", "Reads\na file. "+strings.Repeat("long ", 40)), tool("write", ""))
	up.Features.Instructions = "Use with care."
	c := Merge([]Source{up, {Server: "gone", State: "exit status 1"}}, Options{})
	full := "Available tools:\n  Server: files - Use with care.\n    - read: " + oneLine("Reads a file. "+strings.Repeat("long ", 40), 80) + "\n    - write\n  Server: gone (exit status 1)"
	t.Run("req/S002-4", func(t *testing.T) {
		equalTo(t, full, c.Outline(View{}, 0))
		ref, miss := c.ToolOf("files", "read", nil)
		if miss != nil || ref.Listed != "files__read" {
			t.Errorf("%+v, %+v", ref, miss)
		}
		equalTo(t, 2, len(c.ToolsOf("files", View{})))
		equalTo(t, []ServerInfo{{Name: "files", State: "ready", Instructions: "Use with care.", Up: true, Tools: 2}, {Name: "gone", State: "exit status 1"}}, c.Servers(View{}))
	})
	t.Run("req/S002-31", func(t *testing.T) {
		_, miss := c.ToolOf("files", "nothing", nil)
		equalTo(t, &Miss{Kind: Unknown, Server: "files", State: "ready"}, miss)
		_, miss = c.ToolOf("gone", "x", nil)
		equalTo(t, &Miss{Kind: ServerDown, Server: "gone", State: "exit status 1"}, miss)
		_, miss = c.ToolOf("nobody", "x", nil)
		equalTo(t, &Miss{Kind: Unknown}, miss)
	})
	t.Run("bounded", func(t *testing.T) {
		equalTo(t, "Available tools:\n  Server: files - Use with care.\n    read, write\n  Server: gone (exit status 1)", c.Outline(View{}, 100))
		for limit := 1; limit < len(full); limit++ {
			if n := len(c.Outline(View{}, limit)); n > limit {
				t.Fatalf("%d bytes with a limit of %d", n, limit)
			}
		}
	})
}

func TestCost(t *testing.T) {
	for in, want := range map[string]Cost{"": {0, 0}, "abcd": {4, 1}, "abcde": {5, 2}, "天气预报": {12, 4}, "éé": {4, 1}} {
		equalTo(t, want, CostOf([]byte(in)))
	}
}
