package gateway

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
			got := choose(c.r, c.tools, c.named, c.most)
			if got.mode != c.want || got.why == "" {
				t.Errorf("got %+v, want %s", got, c.want)
			}
			if c.most > 0 && c.tools > c.most && !strings.Contains(got.why, "at most") {
				t.Errorf("it does not say why: %s", got.why)
			}
		})
	}
}

func TestLimitsOf(t *testing.T) {
	for name, want := range map[string]string{
		"cursor-vscode": "Cursor", "Visual Studio Code": "VS Code", "windsurf-client": "Windsurf", "claude-ai": "Claude",
	} {
		if l := limitsOf(name); l == nil || l.title != want {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if l := limitsOf("somebody"); l != nil {
		t.Errorf("somebody: %+v", l)
	}
}

func TestLimitsExceeded(t *testing.T) {
	list := []byte(`{"tools":[{"name":"short"},{"name":"` + strings.Repeat("n", 61) + `"}]}`)
	if got := limitsOf("cursor").exceeded(list, 41); len(got) != 2 || !strings.Contains(got[0], "is shown 41") || !strings.Contains(got[1], "names of 60 characters; 1 are longer") {
		t.Errorf("got %q", got)
	}
	if got := limitsOf("claude").exceeded(list, 5000); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}
