package receipt

import (
	"fmt"
	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/catalog/fit"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcptest/must"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFitNames holds the names in the configuration, in keys and in the table
// against each other.
func TestFitNames(t *testing.T) {
	for i := range fit.Dialects {
		name := fit.Dialects[i].Name
		if g, err := access.ParseScopes([]string{"fit:" + name, "mode:auto"}); err != nil || g.Fit != name || g.Mode != "auto" {
			t.Errorf("a key with %s: %+v, %v", name, g, err)
		}
		if !strings.Contains(string(config.JSONSchema()), `"`+name+`"`) {
			t.Errorf("the configuration does not know %s", name)
		}
		if !slices.ContainsFunc(clientLimits, func(l Limit) bool { return l.Fit == name }) {
			t.Errorf("no client has %s", name)
		}
	}
	for i := range clientLimits {
		if fit.Of(clientLimits[i].Fit) == nil {
			t.Errorf("%s has no fit", clientLimits[i].title)
		}
	}
	if _, err := access.ParseScopes([]string{"fit:nobody"}); err == nil {
		t.Error("a key may have a fit that there is not")
	}
}

// TestLimitsPage holds the table of the documentation, and that each row says
// where it comes from, against what is built in.
func TestLimitsPage(t *testing.T) {
	raw := must.Read(t, filepath.Join("..", "..", "docs", "compact.md"))
	page := raw
	number := func(n int) string {
		if n == 0 {
			return " "
		}
		return fmt.Sprintf(" %d ", n)
	}
	for i := range clientLimits {
		l := &clientLimits[i]
		row := fmt.Sprintf("\n| %s | `%s` |%s|%s|", l.title, l.Fit, number(l.Tools), number(fit.Of(l.Fit).Length))
		if !strings.Contains(page, row) {
			t.Errorf("the page does not have %q", row)
		}
		_, source, found := strings.Cut(page, "\n- **"+l.title+".**")
		if source, _, _ = strings.Cut(source, "\n- **"); !found || !strings.Contains(source, "](https://") {
			t.Errorf("the page does not say where the figures of %s come from", l.title)
		}
	}
}

func TestLimitOf(t *testing.T) {
	for name, want := range map[string]string{
		"cursor-vscode": "Cursor", "Visual Studio Code": "VS Code", "windsurf-client": "Windsurf", "claude-ai": "Claude",
		"claude-code": "Claude", "gemini-cli-mcp-client": "Gemini", "codex-mcp-client": "Codex", "openai-mcp": "OpenAI",
	} {
		if l := LimitOf(name); l == nil || l.title != want {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if l := LimitOf("somebody"); l != nil {
		t.Errorf("somebody: %+v", l)
	}
}

func TestLimitsExceeded(t *testing.T) {
	list := []string{`{"name":"` + strings.Repeat("n", 47) + `","inputSchema":{"type":"object"}}`}
	for i := range 100 {
		list = append(list, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, i))
	}
	list[1] = `{"name":"t0","inputSchema":{"type":"object","properties":{"l":{"type":"array"}}}}`
	tools, _ := catalog.ParseTools([][]byte{[]byte(`{"tools":[` + strings.Join(list, ",") + `]}`)})
	shown := catalog.Merge([]catalog.Source{{Server: "s", Features: &catalog.Features{Tools: tools}, Policy: catalog.Policy{Naming: catalog.NamingNone}}}, catalog.Options{})
	const arrays, names = "refuse in part: 1, such as an array without items in t0; set \"fit\": \"", "longer ones: 1, such as nnn"
	for _, tt := range []struct {
		client, fit string
		want        []string
	}{
		{"windsurf", "", []string{"takes 100 tools and is shown 101", arrays}},
		{"windsurf", "windsurf", []string{"is shown 101"}},
		{"vscode", "", []string{"room for names of 46 characters; " + names, arrays}},
		{"cursor", "", []string{"room for names of 45 characters; " + names, arrays}},
		{"claude-code", "", []string{"room for names of 43 characters; " + names}},
		{"codex-mcp-client", "openai", nil},
	} {
		got := LimitOf(tt.client).Exceeded(shown, catalog.View{Fit: fit.Of(tt.fit)})
		if len(got) != len(tt.want) {
			t.Errorf("%s with %q: got %q, want %q", tt.client, tt.fit, got, tt.want)
			continue
		}
		for i, want := range tt.want {
			if !strings.Contains(got[i].String(), want) {
				t.Errorf("%s with %q: got %q, want %q", tt.client, tt.fit, got[i], want)
			}
		}
	}
}
