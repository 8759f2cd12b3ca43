package decisions

import (
	"fmt"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// TestOneProcessOnStdio checks that the only client of a gateway on stdio keeps the
// process of a server that asks for its roots.
func TestOneProcessOnStdio(t *testing.T) {
	t.Parallel()
	for _, share := range []string{"auto", "all", "session"} {
		t.Run(share, func(t *testing.T) {
			w := newWorld(t, nil)
			w.settings = map[string]any{"mcpServers": map[string]any{server: w.entry(server, map[string]any{envAsks: "1", "share": share})}}
			w.startStdio()
			w.onStdio.Initialize(mcp.V2025_11_25, `{"roots":{"listChanged":true}}`)
			first, asked := "", 0
			for id := 1; id <= 4; id++ {
				w.onStdio.Send(string(request(id, mcp.MethodToolsCall, map[string]any{"name": server + "__roots"}, legacy)))
				answer := mcptest.Message{}
				for answer.Raw == "" {
					m := w.onStdio.Expect("the answer or a question", func(m *mcptest.Message) bool {
						return m.Method == mcp.MethodRootsList || m.Method == "" && string(m.ID) == fmt.Sprint(id)
					})
					if m.Method == "" {
						answer = m
						continue
					}
					asked++
					w.onStdio.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file:///srv/house"}]}}`, m.ID))
				}
				if first == "" {
					first = string(answer.Result)
				}
				if got := string(answer.Result); got != first || got == "" {
					t.Errorf("call %d: %s, and the first was %s", id, answer.Raw, first)
				}
			}
			if asked == 0 {
				t.Error("the client was not asked")
			}
		})
	}
}
