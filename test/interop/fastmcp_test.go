package interop

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	ours "mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// FastMCP 4 speaks both eras, names the modern one alone, and can ask in the
// legacy one alone.
func TestFastMCP(t *testing.T) {
	python, err := filepath.Abs(filepath.Join("scripts", "fastmcp_server.py"))
	if err != nil {
		t.Fatal(err)
	}
	program := mcptest.Program{Path: filepath.Join(cache, "python", "bin", "python"), Args: []string{python, "http"}}
	url := mcptest.Start(t, program).Listening() + "/mcp"
	for name, entry := range map[string]string{"over HTTP": fmt.Sprintf(`{"url":%q}`, url), "on stdio": entry(program.Path, python)} {
		servers := config("fast", entry)
		t.Run("true/2 "+name+", gateway over HTTP", func(t *testing.T) {
			endpoint := mcptest.Gateway(t, servers).URL + "/mcp"
			asksAll(t, func(*testing.T) mcp.Transport { return &mcp.StreamableClientTransport{Endpoint: endpoint} })
		})
		t.Run("true/2 "+name+", gateway on stdio", func(t *testing.T) {
			home, file := t.TempDir(), mcptest.WriteConfig(t, servers)
			asksAll(t, func(t *testing.T) mcp.Transport {
				cmd := exec.Command(mcptest.BuildProduct(t), "stdio", "--mcp-config", file)
				cmd.Env = append(cmd.Environ(), "HOME="+home, "XDG_STATE_HOME=")
				return &mcp.CommandTransport{Command: cmd}
			})
		})
	}
}

// asksAll has clients of both eras asked. The first call of a modern one may
// fail, as it does without a gateway, and is not repeated.
func asksAll(t *testing.T, transport func(*testing.T) mcp.Transport) {
	old := connectGo(t, ours.LatestLegacy, transport(t))
	old.expect(t, "fast__echo", map[string]any{"message": "hi"}, "hi")
	old.expect(t, "fast__ask_name", nil, "Hello, Grace!")
	modern := connectGo(t, ours.LatestModern, transport(t))
	modern.expect(t, "fast__echo", map[string]any{"message": "hi"}, "hi")
	if text, failed := modern.call(t, "fast__ask_name", nil); failed != strings.Contains(text, "server-initiated requests") {
		t.Errorf("the first question of a modern client: %q", text)
	}
	modern.expect(t, "fast__ask_name", nil, "Hello, Grace!")
	old.expect(t, "fast__ask_name", nil, "Hello, Grace!")
	connectGo(t, ours.LatestModern, transport(t)).expect(t, "fast__ask_name", nil, "Hello, Grace!")
}
