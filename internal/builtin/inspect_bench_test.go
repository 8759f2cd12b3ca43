package builtin

import (
	"fmt"
	"strings"
	"testing"

	"mcp-all-in-one/internal/catalog"
)

// manyTools returns 50 servers with 100 tools each.
func manyTools(b *testing.B) *Env {
	b.Helper()
	verbs := []string{"list", "read", "create", "delete", "update", "search", "export", "import", "archive", "share"}
	nouns := []string{"issue", "invoice", "calendar", "message", "document", "ticket", "customer", "pipeline", "dashboard", "schedule"}
	var sources []catalog.Source
	for s := range 50 {
		var list []string
		for _, verb := range verbs {
			for _, noun := range nouns {
				list = append(list, fmt.Sprintf(`{"name":"%s_%s","description":"%s one %s of service%d. 查询%d","inputSchema":{"type":"object","properties":{"%sId":{"type":"string"},"limit":{"type":"integer"}}}}`,
					verb, noun, verb, noun, s, s, noun))
			}
		}
		tools, issues := catalog.ParseTools([][]byte{[]byte(`{"tools":[` + strings.Join(list, ",") + `]}`)})
		if len(issues) > 0 {
			b.Fatal(issues)
		}
		sources = append(sources, catalog.Source{Server: fmt.Sprintf("service%d", s), Features: &catalog.Features{Tools: tools}})
	}
	all := catalog.Merge(sources, catalog.Options{})
	return &Env{Catalog: func() *catalog.Catalog { return all }}
}

// BenchmarkInspect measures calls of inspect among 5,000 tools: searches with
// and without typing errors in both languages, the tools of a server, one tool.
func BenchmarkInspect(b *testing.B) {
	env := manyTools(b)
	for _, bench := range []struct{ name, mode, arguments string }{
		{"query", ModeSearch, `{"query":"delete invoice"}`},
		{"query with typos", ModeSearch, `{"query":"delte invoce in service7"}`},
		{"query in Chinese", ModeSearch, `{"query":"查询"}`},
		{"server", ModeCompact, `{"server_name":"service7"}`},
		{"tool", ModeCompact, `{"server_name":"service7","tool_name":"delete_invoice"}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			inspect := toolsFor(env, bench.mode, nil).Tool("inspect")
			if resp, err := inspect.Run(b.Context(), env, []byte(bench.arguments)); err != nil || resp.Err != nil || !strings.Contains(string(resp.Result), "service") {
				b.Fatalf("%v, %v", resp, err) // this also builds the index
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := inspect.Run(b.Context(), env, []byte(bench.arguments)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
