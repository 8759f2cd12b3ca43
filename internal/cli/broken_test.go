package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest"
)

// brokenServer speaks MCP over HTTP and answers each call with a result that is
// not JSON, as a body or as an event.
func brokenServer(events bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id, result := jsonrpc.Get(body, "id"), ""
		switch method, _ := jsonrpc.GetString(body, "method"); method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			result = `{"content":[],}`
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
			return
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if events {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id, result)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	}
}

// TestBrokenResultOverHTTP checks that a broken result is reported as an error
// of its server, on both paths.
func TestBrokenResultOverHTTP(t *testing.T) {
	t.Parallel()
	for name, events := range map[string]bool{"body": false, "event": true} {
		t.Run("true/15 "+name, func(t *testing.T) {
			server := httptest.NewServer(brokenServer(events))
			defer server.Close()
			client := mcptest.GatewayStdio(t, fmt.Sprintf(`{"mcpServers":{"s":{"url":%q}}}`, server.URL+"/mcp"))
			client.Initialize("2025-06-18", "{}")
			m := client.Ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s__go","arguments":{}}}`)
			if !strings.Contains(string(m.Raw), `"upstream_protocol_error"`) {
				t.Errorf("the answer is %s", m.Raw)
			}
		})
	}
}
