//lint:file-ignore SA1019 what a version deprecates still has to pass through the gateway

package interop

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	ours "mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// textOf returns the first text of a tool result, or the error.
func textOf(t *testing.T, c *goClient, tool string, arguments map[string]any) string {
	t.Helper()
	text, failed := c.call(t, tool, arguments)
	if failed {
		t.Fatalf("%s: %s", tool, text)
	}
	return text
}

func TestPublishedServers(t *testing.T) {
	t.Parallel()
	allowed, root := t.TempDir(), t.TempDir()
	for dir, name := range map[string]string{allowed: "allowed.txt", root: "root.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("content of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	servers := config(
		"everything", entry(node(t), npmServer("server-everything")),
		"files", entry(node(t), npmServer("server-filesystem"), allowed),
		"memory", fmt.Sprintf(`{"command":%q,"args":[%q],"env":{"MEMORY_FILE_PATH":%q}}`,
			node(t), npmServer("server-memory"), filepath.Join(t.TempDir(), "memory.json")),
		"Time", entry(uvx(), "mcp-server-time", "--local-timezone=Asia/Shanghai"),
	)
	g := mcptest.Gateway(t, servers)
	c := connectGo(t, ours.LatestLegacy, &mcp.StreamableClientTransport{Endpoint: g.URL + "/mcp"})
	t.Run("everything", func(t *testing.T) {
		if got := textOf(t, c, "everything__echo", map[string]any{"message": "hello"}); !strings.Contains(got, "hello") {
			t.Errorf("echo: %q", got)
		}
	})
	t.Run("filesystem", func(t *testing.T) {
		path := filepath.Join(allowed, "allowed.txt")
		if got := textOf(t, c, "files__read_text_file", map[string]any{"path": path}); got != "content of allowed.txt" {
			t.Errorf("read_text_file: %q", got)
		}
	})
	t.Run("memory", func(t *testing.T) {
		textOf(t, c, "memory__create_entities", map[string]any{"entities": []any{
			map[string]any{"name": "Ada", "entityType": "person", "observations": []string{"wrote programs"}},
		}})
		if got := textOf(t, c, "memory__read_graph", nil); !strings.Contains(got, "wrote programs") {
			t.Errorf("read_graph: %q", got)
		}
	})
	t.Run("req/S000-30 time through uvx", func(t *testing.T) {
		got := textOf(t, c, "Time__get_current_time", map[string]any{"timezone": "Asia/Shanghai"})
		if !strings.Contains(got, "+08:00") {
			t.Errorf("get_current_time: %q", got)
		}
	})
}

// TestRootsMoveNobodysSandbox: the filesystem server replaces its allowed
// directories by the roots that it gets. So a client's roots may reach only its
// own server.
func TestRootsMoveNobodysSandbox(t *testing.T) {
	t.Parallel()
	allowed, mine := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(mine, "mine.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	servers := fmt.Sprintf(`{"mcpServers":{"files":{"command":%q,"args":[%q,%q],"share":"session"}}}`,
		node(t), npmServer("server-filesystem"), allowed)
	g := mcptest.Gateway(t, servers)
	connect := func(roots ...*mcp.Root) *mcp.ClientSession {
		client := mcp.NewClient(&mcp.Implementation{Name: "roots", Version: "1"}, nil)
		client.AddRoots(roots...)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: g.URL + "/mcp"},
			&mcp.ClientSessionOptions{ProtocolVersion: ours.LatestLegacy})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { session.Close() })
		return session
	}
	read := func(s *mcp.ClientSession) (ok bool) {
		result, err := s.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "files__read_text_file", Arguments: map[string]any{"path": filepath.Join(mine, "mine.txt")}})
		return err == nil && !result.IsError
	}
	owner := connect(&mcp.Root{URI: "file://" + mine, Name: "mine"})
	other := connect()
	// The server asks for the roots after the handshake, in parallel to calls.
	for late := time.After(15 * time.Second); !read(owner); {
		select {
		case <-late:
			t.Fatalf("a client's own root is not readable to it")
		case <-time.After(50 * time.Millisecond):
		}
	}
	if read(other) {
		t.Errorf("one client's root became readable to another")
	}
}

// TestGoSDKServers runs servers of the official Go SDK behind the gateway, over
// each of its HTTP transports.
func TestGoSDKServers(t *testing.T) {
	t.Parallel()
	type person struct {
		Name string `json:"name"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greet"},
		func(_ context.Context, _ *mcp.CallToolRequest, in person) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hi, " + in.Name}}}, nil, nil
		})
	stateful := httptest.NewServer(mcp.NewStreamableHTTPHandler(getServer(server), nil))
	stateless := httptest.NewServer(mcp.NewStreamableHTTPHandler(getServer(server), &mcp.StreamableHTTPOptions{Stateless: true}))
	sse := httptest.NewServer(mcp.NewSSEHandler(getServer(server), nil))
	t.Cleanup(stateful.Close)
	t.Cleanup(stateless.Close)
	t.Cleanup(sse.CloseClientConnections)
	url := func(kind, address string) string { return fmt.Sprintf(`{"type":%q,"url":%q}`, kind, address) }
	g := mcptest.Gateway(t, config(
		"stateful", url("http", stateful.URL), "stateless", url("http", stateless.URL), "sse", url("sse", sse.URL)))
	for _, version := range []string{ours.LatestLegacy, ours.LatestModern} {
		c := connectGo(t, version, &mcp.StreamableClientTransport{Endpoint: g.URL + "/mcp"})
		for _, name := range []string{"stateful", "stateless", "sse"} {
			t.Run(version+" "+name, func(t *testing.T) {
				if got := textOf(t, c, name+"__greet", map[string]any{"name": "Bo"}); got != "Hi, Bo" {
					t.Errorf("greet: %q", got)
				}
			})
		}
	}
}

func getServer(s *mcp.Server) func(*http.Request) *mcp.Server {
	return func(*http.Request) *mcp.Server { return s }
}
