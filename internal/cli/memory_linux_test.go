package cli_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestStdioIsSmaller compares the memory of one schema over stdio with that of
// three schemas over HTTP.
func TestStdioIsSmaller(t *testing.T) {
	t.Run("req/S003-44", func(t *testing.T) {
		binary := mcptest.BuildProduct(t)
		entry := fmt.Sprintf(`{"mcpServers":{"demo":{"command":%q,"args":["demo"]}}}`, binary)
		config := `{"server":{"port":0},"schemas":{"default":` + entry + `,"workspace":` + entry + `,"tools":` + entry + `}}`
		stdio := mcptest.GatewayStdio(t, config)
		stdio.Initialize("2025-06-18", `{}`)
		stdio.Ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		web := mcptest.Gateway(t, config)
		for _, schema := range []string{"default", "workspace", "tools"} {
			c := mcptest.NewRawHTTP(t, web.URL+"/api/"+schema+"/mcp")
			c.Initialize("2025-06-18", `{}`)
			if _, err := c.Try(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); err != nil {
				t.Fatal(err)
			}
		}
		small, large := resident(t, stdio.PID()), resident(t, web.PID())
		t.Logf("stdio %d KiB, HTTP %d KiB", small, large)
		if small >= large {
			t.Errorf("stdio needs %d KiB, HTTP %d KiB", small, large)
		}
	})
}

// resident returns the resident memory of a process, in KiB.
func resident(t *testing.T, pid int) int {
	t.Helper()
	data := must.Read(t, fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(data) {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			return kib
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
