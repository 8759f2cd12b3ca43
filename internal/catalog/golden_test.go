package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func searchCatalog(t testing.TB) *Catalog {
	raw, err := os.ReadFile(filepath.Join("testdata", "search", "tools.json"))
	if err != nil {
		t.Fatal(err)
	}
	var byServer map[string][]json.RawMessage
	if err := json.Unmarshal(raw, &byServer); err != nil {
		t.Fatal(err)
	}
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
	raw, err := os.ReadFile(filepath.Join("testdata", "search", "queries.txt"))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for line := range strings.Lines(string(raw)) {
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
