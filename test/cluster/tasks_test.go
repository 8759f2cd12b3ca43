package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// worker returns a server of 2025-11-25 whose tool runs as a task.
func worker(t *testing.T) string {
	t.Helper()
	results := map[string]string{
		"initialize":   `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"worker","version":"1"}}`,
		"tools/list":   `{"tools":[{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`,
		"tools/call":   `{"task":{"taskId":"t1","status":"working","createdAt":"2026-01-01T00:00:00Z","ttl":60000,"pollInterval":50}}`,
		"tasks/get":    `{"taskId":"t1","status":"completed","createdAt":"2026-01-01T00:00:00Z","ttl":60000}`,
		"tasks/result": `{"content":[{"type":"text","text":"finished"}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ TaskID string }
		}
		body, _ := io.ReadAll(r.Body) // a failure means that the client has disconnected
		if r.Method != http.MethodPost || json.Unmarshal(body, &m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if result, ok := results[m.Method]; ok && (m.Params.TaskID == "" || m.Params.TaskID == "t1") {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// about makes a request of a modern client with tasks, at a replica.
func about(t *testing.T, r *replica, method, name, params string) mcptest.Message {
	t.Helper()
	c := mcptest.NewRawHTTP(t, r.url())
	c.Header.Set("Mcp-Protocol-Version", modern)
	c.Header.Set("Mcp-Method", method)
	c.Header.Set("Mcp-Name", name)
	return c.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`,
		method, params, modern)).Answer(t)
}

// TestTasks checks that a modern client can ask any replica about a task that
// another replica began.
func TestTasks(t *testing.T) {
	c := start(t, 3, options{members: true, servers: fmt.Sprintf(`,"work":{"type":"http","url":%q}`, worker(t))})
	t.Run("cluster/tasks", func(t *testing.T) {
		begun := about(t, c.replicas[0], "tools/call", "work__slow", `"name":"work__slow","arguments":{}`)
		var task struct{ TaskID string }
		if err := json.Unmarshal(begun.Result, &task); err != nil || !strings.HasPrefix(task.TaskID, "work~t1") {
			t.Fatalf("the task is %s", begun.Raw)
		}
		for _, r := range c.replicas {
			got := ""
			await(t, "the task ends, as replica "+r.name+" says", func() bool {
				m := about(t, r, "tasks/get", task.TaskID, fmt.Sprintf(`"taskId":%q`, task.TaskID))
				got = m.Raw
				return strings.Contains(string(m.Result), `"completed"`) || m.Error != nil
			})
			if !strings.Contains(got, "finished") || !strings.Contains(got, task.TaskID) {
				t.Errorf("replica %s says %s", r.name, got)
			}
		}
		forged := task.TaskID[:len(task.TaskID)-2] + "AA"
		if m := about(t, c.replicas[1], "tasks/get", forged, fmt.Sprintf(`"taskId":%q`, forged)); m.Error == nil {
			t.Errorf("a forged id: %s", m.Raw)
		}
	})
	t.Run("cluster/tasks/owner died", func(t *testing.T) {
		begun := about(t, c.replicas[0], "tools/call", "work__slow", `"name":"work__slow","arguments":{}`)
		var task struct{ TaskID string }
		decode(t, begun.Result, &task)
		c.replicas[0].kill()
		isLost(t, about(t, c.replicas[1], "tasks/get", task.TaskID, fmt.Sprintf(`"taskId":%q`, task.TaskID)))
	})
}
