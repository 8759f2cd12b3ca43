package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/catalog/fit"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// longName is longer with its server than any kind of client takes.
var longName = strings.Repeat("long_", 12) + "n" // 61 characters, 64 with its server

// TestFit shows tools cut to what a client takes, and calls them by what was
// shown.
func TestFit(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"number","exclusiveMinimum":0}},"required":["n"]}`
	const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"gemini-cli","version":"1"}}`
	for _, tt := range []struct {
		name, schema, key, client string
		modern, cut               bool
	}{
		{name: "off", schema: "off", client: "gemini-cli"},
		{name: "schema, legacy", schema: "gemini", client: "somebody", cut: true},
		{name: "schema, modern", schema: "gemini", modern: true, cut: true},
		{name: "auto, known client", schema: "auto", client: "gemini-cli", cut: true},
		{name: "auto, unknown client", schema: "auto", client: "somebody"},
		{name: "auto, modern", schema: "auto", modern: true},
		{name: "key, legacy", schema: "off", key: "gemini", client: "somebody", cut: true},
		{name: "key, modern", schema: "off", key: "gemini", modern: true, cut: true},
		{name: "key over schema", schema: "gemini", key: "off", client: "somebody"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRaw(t, `{"tools":{}}`, map[string]string{
				mcp.MethodToolsList: `{"tools":[{"name":"` + longName + `","inputSchema":` + schema + `}]}`,
				mcp.MethodToolsCall: `{"content":[{"type":"text","text":"done"}]}`,
			})
			g := newGateway(t, map[string]string{"s": r.URL}, func(c *config.Config) {
				c.Schemas[0].Fit, c.Schemas[0].Servers[0].Validate = tt.schema, "full"
			})
			s, err := g.Open(Opening{Who: access.Principal{ID: "key:k", Grant: access.Grant{Fit: tt.key}}, Schema: config.DefaultSchema, Session: !tt.modern, Client: nobody{}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			list, call := `{}`, `{"name":"NAME","arguments":{"n":N}}`
			if tt.modern {
				list, call = `{`+modernMeta+`}`, strings.TrimSuffix(call, "}")+`,`+modernMeta+`}`
			} else {
				ask(t, s, mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+tt.client+`","version":"1"}}`)
			}
			var tool []byte
			for tool = range jsonrpc.Elements(jsonrpc.Get([]byte(ask(t, s, mcp.MethodToolsList, list)), "tools")) {
			}
			name, _ := jsonrpc.GetString(tool, "name")
			shown := string(jsonrpc.Get(tool, "inputSchema"))
			if cut := len(name) <= fit.Of("gemini").Length && !strings.Contains(shown, `"exclusiveMinimum":`); cut != tt.cut {
				t.Fatalf("shown %s with %s", name, shown)
			}
			if got := ask(t, s, mcp.MethodToolsCall, strings.NewReplacer("NAME", name, ":N", ":1").Replace(call)); !strings.Contains(got, "done") {
				t.Errorf("the call answered %s", got)
			}
			if sent, _ := jsonrpc.GetString([]byte(r.sent(t, mcp.MethodToolsCall)), "name"); sent != longName {
				t.Errorf("the server was asked for %s", sent)
			}
			if got := ask(t, s, mcp.MethodToolsCall, strings.NewReplacer("NAME", name, ":N", ":-1").Replace(call)); !strings.Contains(got, `"isError":true`) {
				t.Errorf("the whole schema was not held: %s", got)
			}
		})
	}
}

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
		if !slices.ContainsFunc(clientLimits, func(l clientLimit) bool { return l.fit == name }) {
			t.Errorf("no client has %s", name)
		}
	}
	for i := range clientLimits {
		if fit.Of(clientLimits[i].fit) == nil {
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
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "compact.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	number := func(n int) string {
		if n == 0 {
			return " "
		}
		return fmt.Sprintf(" %d ", n)
	}
	for i := range clientLimits {
		l := &clientLimits[i]
		row := fmt.Sprintf("\n| %s | `%s` |%s|%s|", l.title, l.fit, number(l.tools), number(fit.Of(l.fit).Length))
		if !strings.Contains(page, row) {
			t.Errorf("the page does not have %q", row)
		}
		_, source, found := strings.Cut(page, "\n- **"+l.title+".**")
		if source, _, _ = strings.Cut(source, "\n- **"); !found || !strings.Contains(source, "](https://") {
			t.Errorf("the page does not say where the figures of %s come from", l.title)
		}
	}
}
