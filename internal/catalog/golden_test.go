package catalog

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// golden holds the result for each testdata/dir/*.json against the file beside
// it.
func golden(t *testing.T, dir, ext string, run func(in []byte) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", dir, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			in, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := run(bytes.TrimSpace(in)) + "\n"
			path := filepath.Join("testdata", dir, name+ext)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			equalTo(t, string(want), got)
		})
	}
}

func TestSignatures(t *testing.T) {
	golden(t, "signature", ".ts", func(in []byte) string {
		ts, ok := Signature(in)
		short := ShortSignature("tool", in)
		if !ok {
			return "not applied\n" + short
		}
		if len(ts) >= len(in) {
			t.Errorf("the type is larger: %d and %d bytes", len(ts), len(in))
		}
		return ts + "\n" + short
	})
	for _, bad := range []string{"", "{", `"x"`, "7", "null", `{"type":7}`, `{"type":"object","properties":{"a":7}}`} {
		if ts, ok := Signature([]byte(bad)); ok {
			t.Errorf("%q became %q", bad, ts)
		}
	}
}

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

// TestSearchQueries asks the golden queries: the tool behind the arrow must
// come first.
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
