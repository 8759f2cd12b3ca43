package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestConnectWaits connects a client, lets it start the command in its file,
// and checks that its arrival is reported.
func TestConnectWaits(t *testing.T) {
	t.Parallel()
	home, binary := t.TempDir(), mcptest.BuildProduct(t)
	env := []string{"HOME=" + home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR=" + t.TempDir(), "MCP_AIO_LANG=en"}
	t.Run("over stdio", func(t *testing.T) {
		file := filepath.Join(home, ".cursor", "mcp.json")
		must.Folder(t, filepath.Dir(file))
		connect := mcptest.Start(t, mcptest.Program{Path: binary, Args: []string{"connect", "cursor", "--wait", "60s"}, Env: env})
		connect.Says("waiting up to 1m0s")
		var written struct {
			MCPServers map[string]struct {
				Command string
				Args    []string
			}
		}
		data, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(data, &written) != nil {
			t.Fatalf("%v %s", err, data)
		}
		entry := written.MCPServers["mcp-all-in-one"]
		client := mcptest.StartStdio(t, mcptest.Program{Path: entry.Command, Args: entry.Args, Env: env})
		client.Ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"Cursor","version":"9.9"}}}`)
		connect.Says("it came: Cursor 9.9")
	})
	t.Run("over HTTP", func(t *testing.T) {
		path := mcptest.WriteConfig(t, fmt.Sprintf(`{"mcpServers":{"demo":{"command":%q,"args":["demo"]}}}`, binary))
		url := mcptest.Start(t, mcptest.Program{Path: binary, Args: []string{"http", "-p", "0", "-c", path}, Env: env}).Listening() + "/mcp"
		connect := mcptest.Start(t, mcptest.Program{Path: binary, Args: []string{"connect", "gemini", "--url", url, "--wait", "60s"}, Env: env})
		connect.Says("waiting up to 1m0s")
		mcptest.NewRawHTTP(t, url).Initialize("2025-06-18", `{}`)
		connect.Says("it came: ")
	})
	t.Run("nobody", func(t *testing.T) {
		connect := mcptest.Start(t, mcptest.Program{Path: binary, Args: []string{"connect", "kiro", "--wait", "1ms"}, Env: env})
		connect.Says("no client has come yet")
		if left, _ := filepath.Glob(filepath.Join(home, ".local", "state", "mcp-all-in-one", "waiting", "*")); len(left) > 0 && strings.HasSuffix(left[0], ".wait") {
			t.Errorf("left behind: %v", left)
		}
	})
}
