package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	ours "mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// fastmcp returns the command of our FastMCP server, on stdio, or over HTTP with
// the argument http.
func fastmcp(t *testing.T, args ...string) mcptest.Program {
	t.Helper()
	return python(t, "fastmcp_server.py", args...)
}

// python returns the command of one of our scripts.
func python(t *testing.T, name string, args ...string) mcptest.Program {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("scripts", name))
	if err != nil {
		t.Fatal(err)
	}
	return mcptest.Program{Path: filepath.Join(cache, "python", "bin", "python"), Args: append([]string{script}, args...)}
}

// TestFastMCP: FastMCP 4 speaks both eras, but names only the modern one, and
// can ask only in the legacy one.
func TestFastMCP(t *testing.T) {
	t.Parallel()
	url, piped := mcptest.Start(t, fastmcp(t, "http")).Listening()+"/mcp", fastmcp(t)
	for name, entry := range map[string]string{"over HTTP": fmt.Sprintf(`{"url":%q}`, url), "on stdio": entry(piped.Path, piped.Args...)} {
		servers := patient(config("fast", entry))
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

// asksAll has clients of both eras answer a question. The first call of a
// modern client may fail, as it does without a gateway, and is not repeated.
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

// TestCompareAuto compares a tool that asks with a direct connection, in the
// era that the gateway chooses, and answers both.
func TestCompareAuto(t *testing.T) {
	t.Parallel()
	url := mcptest.Start(t, fastmcp(t, "http")).Listening() + "/mcp"
	script := filepath.Join(t.TempDir(), "ask.yaml")
	if err := os.WriteFile(script, []byte("target: "+url+"\ntests:\n  - call: echo\n    args: {message: hi}\n  - call: ask_name\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("true/2 compare finds no difference with auto", func(t *testing.T) {
		out, code := runProgram(t, "", mcptest.BuildProduct(t), "compare", url, "--script", script, "--protocol", "auto",
			"--answer", `{"elicitation":{"name":"Ada"}}`, "--json")
		if code != 0 || strings.Count(out, `"server":"auto"`) != 2 || strings.Contains(out, "the server asks") {
			t.Errorf("ended with %d: %s", code, out)
		}
	})
}
