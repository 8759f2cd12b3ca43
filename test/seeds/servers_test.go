package seeds

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
)

// serversConfig returns a config file with the given entries, in pairs of a
// name and an entry.
func serversConfig(pairs ...string) string {
	return `{"mcpServers":{` + members(pairs) + `}}`
}

func members(pairs []string) string {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, fmt.Sprintf("%q:%s", pairs[i], pairs[i+1]))
	}
	return strings.Join(list, ",")
}

// child returns the entry of a fixture server that the product starts.
func child(t *testing.T, args ...string) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"command": mcptest.Build(t), "args": args})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// serve runs a fixture server inside the test, which can then change it, and
// returns its entry.
func serve(t *testing.T, server *mcpserver.Server) string {
	t.Helper()
	return fmt.Sprintf(`{"type":"http","url":%q}`, listen(t, server, "")+"/mcp")
}

// listen serves over HTTP until the test ends.
func listen(t *testing.T, server *mcpserver.Server, bearer string) string {
	t.Helper()
	handler, stop := server.HTTP(bearer)
	front := httptest.NewServer(handler)
	t.Cleanup(func() {
		stop()
		front.Close()
	})
	return front.URL
}
