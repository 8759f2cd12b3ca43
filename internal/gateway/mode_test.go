package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/receipt"
)

// TestAutoPerKey has two keys of one schema that see different numbers of
// tools. Each gets the mode that costs it least, and the receipts give the
// reason.
func TestAutoPerKey(t *testing.T) {
	var list []string
	for i := range 300 {
		list = append(list, fmt.Sprintf(`{"name":"t%d","description":%q,"inputSchema":{"type":"object"}}`, i, strings.Repeat("does a thing ", 40)))
	}
	r := newRaw(t, `{"tools":{}}`, map[string]string{mcp.MethodToolsList: `{"tools":[` + strings.Join(list, ",") + `]}`})
	g := newGateway(t, map[string]string{"s": r.URL}, func(c *config.Config) { c.Schemas[0].Mode = builtin.ModeAuto })
	for _, tt := range []struct {
		key, mode string
		grant     access.Grant
	}{
		{"key:all", builtin.ModeCompact, access.Grant{}},
		{"key:few", builtin.ModeFull, access.Grant{Tools: []string{"t1", "t2"}}},
		{"key:full", builtin.ModeFull, access.Grant{Mode: builtin.ModeFull}},
	} {
		for _, era := range []string{"legacy", "modern"} {
			t.Run(tt.key+" "+era, func(t *testing.T) {
				s := opened(t, g, Opening{Who: access.Principal{ID: tt.key, Grant: tt.grant}, Schema: config.DefaultSchema, Session: era == "legacy", Client: nobody{}})
				params := `{}`
				if era == "modern" {
					params = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
				} else {
					ask(t, s, mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
				}
				got := ask(t, s, mcp.MethodToolsList, params)
				if compact := strings.Contains(got, `"exec"`); compact != (tt.mode == builtin.ModeCompact) {
					t.Errorf("shown %.200s", got)
				}
				all := g.Receipts()[config.DefaultSchema]
				receipts := all.Keys
				if era == "legacy" {
					receipts = all.Sessions
				}
				at := slices.IndexFunc(receipts, func(r receipt.Receipt) bool { return r.Key == tt.key })
				if at < 0 || receipts[at].Mode != tt.mode || receipts[at].Lists == 0 || (receipts[at].Why != "") != (tt.grant.Mode == "") {
					t.Errorf("the receipts are %+v", receipts)
				}
			})
		}
	}
}
