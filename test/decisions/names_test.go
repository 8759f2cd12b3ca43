package decisions

import (
	"os"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
)

// TestLongNames checks that names which a client sends take little room in the
// record and in the audit trail, however long they are. A key could otherwise
// fill the memory, and push the calls of others out of the trail.
func TestLongNames(t *testing.T) {
	t.Parallel()
	const most = 2 << 10
	long := strings.Repeat("u", 1<<20)
	w := newWorld(t, map[string][]string{keyAnn: nil, "admin": {"admin"}})
	w.start(map[string]any{"mcpServers": map[string]any{server: w.entry(server, nil)}})
	client := w.streamable("/mcp", keyAnn, legacy)
	methods := map[string]map[string]any{
		mcp.MethodToolsCall:     {"name": server + "__" + long},
		mcp.MethodPromptsGet:    {"name": long},
		mcp.MethodResourcesRead: {"uri": "memos://demo/" + long},
		mcp.MethodSubscribe:     {"uri": "memos://demo/" + long},
		mcp.MethodTasksGet:      {"taskId": server + "~" + long},
		mcp.MethodComplete:      {"ref": map[string]any{"type": "ref/prompt", "name": long}, "argument": map[string]any{"name": "a", "value": "b"}},
	}
	for method, params := range methods {
		client.ask(method, params, nil)
	}
	w.streamable("/mcp?mode=compact", keyAnn, legacy).ask(mcp.MethodToolsCall, map[string]any{
		"name": "exec", "arguments": map[string]any{"server_name": long, "tool_name": long},
	}, nil)
	found := make(map[string]bool)
	for _, e := range w.record() {
		if len(e.Server)+len(e.Tool)+len(e.Name)+len(e.Reason) > most {
			t.Errorf("the record of %s has %d bytes of names", e.Method, len(e.Server)+len(e.Tool)+len(e.Name)+len(e.Reason))
		}
		found[e.Method] = true
	}
	for method := range methods {
		if !found[method] {
			t.Errorf("the record has no %s", method)
		}
	}
	w.until("the calls are in the audit trail", func() bool {
		in := make(map[string]bool)
		for _, e := range w.trail() {
			in[e.Method] = true
		}
		for method := range methods {
			if !in[method] {
				return false
			}
		}
		return true
	})
	for line := range strings.Lines(read(t, w.audit("http"))) {
		if len(line) > 2*most {
			t.Errorf("a line of the audit trail has %d bytes: %.300s", len(line), line)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
