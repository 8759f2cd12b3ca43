package decisions

import (
	"fmt"
	"net/http"
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
	header, said := w.open(keyAnn, fmt.Sprintf(`{"name":%q,"version":%q}`, long[:20<<10], long[:20<<10]))
	if !strings.Contains(said, `"serverInfo"`) {
		t.Fatalf("%.300s", said)
	}
	client := &streamable{w: w, path: "/mcp", as: keyAnn, header: header}
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
		if n := len(e.Server) + len(e.Tool) + len(e.Name) + len(e.Reason); n > most || len(e.Client) > most {
			t.Errorf("the record of %s has %d bytes of names, and the client has %d", e.Method, n, len(e.Client))
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
	if _, body := w.api("admin", http.MethodGet, "clients", nil); !strings.Contains(body, "uuu") || len(body) > 4*most {
		t.Errorf("the list of clients has %d bytes: %.300s", len(body), body)
	}
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
