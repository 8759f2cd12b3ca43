package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

func searchCatalog(t testing.TB) *Catalog {
	var byServer map[string][]json.RawMessage
	must.Parse(t, must.Read(t, filepath.Join("testdata", "search", "tools.json")), &byServer)
	var sources []Source
	for _, name := range slices.Sorted(maps.Keys(byServer)) {
		var all []string
		for _, raw := range byServer[name] {
			all = append(all, string(raw))
		}
		sources = append(sources, server(name, all...))
	}
	return Merge(sources, Options{})
}

// TestSearchQueries runs the golden queries: the tool after the arrow must be
// the first result.
func TestSearchQueries(t *testing.T) {
	c := searchCatalog(t)
	raw := must.Read(t, filepath.Join("testdata", "search", "queries.txt"))
	asked := 0
	for line := range strings.Lines(raw) {
		query, want, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok {
			t.Fatalf("bad line %q", line)
		}
		asked++
		t.Run(query, func(t *testing.T) {
			hits := c.Search(query, View{}, 3)
			var got []string
			for _, h := range hits {
				got = append(got, fmt.Sprintf("%s/%s %.2f", h.Server, h.Name, h.Score))
			}
			if len(hits) == 0 || hits[0].Server+"/"+hits[0].Name != want {
				t.Errorf("found %q, want %s first", got, want)
			}
		})
	}
	if asked < 20 {
		t.Errorf("only %d queries", asked)
	}
}
