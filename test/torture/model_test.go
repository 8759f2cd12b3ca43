package torture

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

// TestModel checks that the product behaves like a model of a few lines of Go,
// whatever clients do in whatever order.
func TestModel(t *testing.T) {
	t.Run("fault/T44", func(t *testing.T) {
		f := hostiles(t, 2, `,"restartDelay":"20ms","retries":1000`)
		gateway := mcptest.Gateway(t, f.config)
		ready(t, gateway)
		steps, sequences := 0, 0
		rounds := figures.Size(10, 1000)
		for range rounds { // rapid's number of checks is a flag
			rapid.Check(t, func(r *rapid.T) {
				sequences++
				m := &model{t: t, gateway: gateway, sessions: map[int]*mcptest.RawHTTP{}}
				for range rapid.IntRange(1, figures.Size(10, 40)).Draw(r, "steps") {
					steps++
					m.step(r)
				}
			})
			if sequences >= figures.Size(20, 5000) {
				break
			}
		}
		healthy(t, gateway)
		figures.Report(t, "T44", "%d random sequences of connect, list, call, cancel, disconnect and crash, %d steps: no answer other than the model's", sequences, steps)
	})
}

// A model knows which sessions exist; nothing else matters.
type model struct {
	t        *testing.T
	gateway  *mcptest.Process
	sessions map[int]*mcptest.RawHTTP
	gone     []*mcptest.RawHTTP
	next     int
}

func (m *model) step(r *rapid.T) {
	op := rapid.SampledFrom([]string{"connect", "connect", "list", "call", "call", "call", "unknown", "cancel", "leave", "late", "crash"}).Draw(r, "op")
	if op == "connect" || len(m.sessions) == 0 {
		c := mcptest.NewRawHTTP(m.t, m.gateway.URL+"/mcp")
		if a := c.Initialize(mcp.LatestLegacy, `{}`); a.Error != nil {
			r.Fatalf("connecting: %s", a.Raw)
		}
		m.sessions[m.next] = c
		m.next++
		return
	}
	keys := make([]int, 0, len(m.sessions))
	for k := range m.next {
		if m.sessions[k] != nil {
			keys = append(keys, k)
		}
	}
	key := rapid.SampledFrom(keys).Draw(r, "session")
	c := m.sessions[key]
	server := rapid.IntRange(0, 1).Draw(r, "server")
	text := fmt.Sprintf("text-%d", rapid.IntRange(0, 1<<30).Draw(r, "text"))
	call := func(tool string) mcptest.Message {
		return c.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"arguments":{"token":%q}}}`, text, tool, text)).Answer(m.t)
	}
	switch op {
	case "list":
		if a := c.Post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Answer(m.t); !strings.Contains(a.Raw, "s0__echo") || !strings.Contains(a.Raw, "s1__echo") {
			r.Fatalf("list: %.200s", a.Raw)
		}
	case "call":
		if a := call(fmt.Sprintf("s%d__echo", server)); a.Error != nil && !strings.Contains(a.Raw, `"reason":"upstream_`) || a.Error == nil && !strings.Contains(a.Raw, text) {
			r.Fatalf("call: %s", a.Raw)
		}
	case "unknown":
		if a := call("s0__" + text); a.Error == nil || a.Error.Code != -32602 {
			r.Fatalf("unknown tool: %s", a.Raw)
		}
	case "cancel":
		if reply := c.Post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nothing"}}`); reply.Status != http.StatusAccepted {
			r.Fatalf("cancel: %d", reply.Status)
		}
	case "leave":
		if reply := c.Do(http.MethodDelete, ""); reply.Status >= 300 {
			r.Fatalf("leaving: %d", reply.Status)
		}
		delete(m.sessions, key)
		m.gone = append(m.gone, c)
	case "late":
		if len(m.gone) > 0 {
			if reply := m.gone[len(m.gone)-1].Post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); reply.Status != http.StatusNotFound {
				r.Fatalf("a session that was left answers %d", reply.Status)
			}
		}
	case "crash":
		if s := servers(m.t, m.gateway)[server]; s.PID != 0 {
			mcptest.Kill(s.PID)
		}
	}
}
