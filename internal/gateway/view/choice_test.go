package view

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/catalog"
)

func TestChoose(t *testing.T) {
	r := func(full, compact, search int) catalog.Receipt {
		return catalog.Receipt{Full: catalog.Cost{Tokens: full}, Compact: catalog.Cost{Tokens: compact}, Search: catalog.Cost{Tokens: search}}
	}
	for _, c := range []struct {
		name  string
		r     catalog.Receipt
		tools int
		named bool
		most  int
		want  string
	}{
		{"nothing yet", r(0, 200, 200), 0, true, 0, "full"},
		{"a few", r(2000, 500, 250), 20, true, 0, "full"},
		{"a hundred big ones", r(30_000, 2000, 250), 100, true, 0, "compact"},
		{"more than the client takes", r(2000, 500, 250), 50, true, 40, "compact"},
		{"as many as the client takes", r(2000, 500, 250), 40, true, 40, "full"},
		{"too many to name", r(250_000, 200, 250), 5000, false, 0, "search"},
		{"too many to name for the client", r(3000, 200, 250), 50, false, 40, "search"},
		{"names that cost more than a search", r(400_000, 40_000, 250), 5000, true, 0, "search"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Choose(c.r, c.tools, c.named, c.most)
			if got.Mode != c.want || got.Why.Empty() {
				t.Errorf("got %+v, want %s", got, c.want)
			}
			if c.most > 0 && c.tools > c.most && !strings.Contains(got.Why.String(), "at most") {
				t.Errorf("it does not say why: %s", got.Why)
			}
		})
	}
}
