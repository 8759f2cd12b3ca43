package gateway

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/catalog/fit"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/must"
)

// longName with its server is longer than any kind of client takes.
var longName = strings.Repeat("long_", 12) + "n" // 61 characters, 64 with its server

// TestFit checks that tools are cut to what a client takes, and can be called
// by the shown names.
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
			s := opened(t, g, Opening{Who: access.Principal{ID: "key:k", Grant: access.Grant{Fit: tt.key}}, Schema: config.DefaultSchema, Session: !tt.modern, Client: nobody{}})
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
			must.Contain(t, ask(t, s, mcp.MethodToolsCall, strings.NewReplacer("NAME", name, ":N", ":1").Replace(call)), "done")
			if sent, _ := jsonrpc.GetString([]byte(r.sent(t, mcp.MethodToolsCall)), "name"); sent != longName {
				t.Errorf("the server was asked for %s", sent)
			}
			if got := ask(t, s, mcp.MethodToolsCall, strings.NewReplacer("NAME", name, ":N", ":-1").Replace(call)); !strings.Contains(got, `"isError":true`) {
				t.Errorf("the whole schema was not held: %s", got)
			}
		})
	}
}
