//go:build linux && (amd64 || arm64)

package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	ours "mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// toolsOf returns the tools of one server, without its prefix.
func toolsOf(t *testing.T, c *goClient, prefix string) []string {
	t.Helper()
	var list []string
	for tool, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if name, ok := strings.CutPrefix(tool.Name, prefix); ok {
			schema, err := json.Marshal(tool.InputSchema)
			if err != nil {
				t.Fatal(err)
			}
			described := strings.TrimPrefix(tool.Description, "["+strings.TrimSuffix(prefix, "__")+"] ")
			list = append(list, name+" "+described+" "+string(schema))
		}
	}
	slices.Sort(list)
	return list
}

// TestConfinedServers runs published servers with and without a sandbox, and
// compares their tools and answers.
func TestConfinedServers(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "a.txt"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	repo := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "--allow-empty", "-m", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git: %v\n%s", err, out)
		}
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "the page "+r.URL.Path)
	}))
	defer page.Close()
	address := strings.Replace(page.URL, "127.0.0.1", "localhost", 1)
	host := strings.TrimPrefix(address, "http://")
	type call struct {
		tool      string
		arguments map[string]any
	}
	packages := fmt.Sprintf(`{"read":[%q],"hosts":"none"}`, filepath.Join(cache, "npm"))
	withFiles := fmt.Sprintf(`{"read":[%q],"write":[%q],"hosts":"none"}`, filepath.Join(cache, "npm"), files)
	for _, tt := range []struct {
		name, entry, sandbox string
		calls                []call
	}{
		{"everything", entry(node(t), npmServer("server-everything")), packages, []call{
			{"echo", map[string]any{"message": "hello"}}, {"get-sum", map[string]any{"a": 2, "b": 3}}, {"get-tiny-image", nil},
		}},
		{"filesystem", entry(node(t), npmServer("server-filesystem"), files), withFiles, []call{
			{"write_file", map[string]any{"path": filepath.Join(files, "b.txt"), "content": "new"}},
			{"read_text_file", map[string]any{"path": filepath.Join(files, "a.txt")}},
			{"list_directory", map[string]any{"path": files}},
			{"create_directory", map[string]any{"path": filepath.Join(files, "sub")}},
			{"search_files", map[string]any{"path": files, "pattern": "*.txt"}},
		}},
		{"memory by npx", entry("npx", "-y", "@modelcontextprotocol/server-memory@2026.8.31"), `{"hosts":"none"}`, []call{{"read_graph", nil}}},
		{"time by uvx", entry(uvx(), "mcp-server-time==2026.10.19", "--local-timezone=Asia/Shanghai"), `{"hosts":"none"}`, []call{
			{"convert_time", map[string]any{"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "Asia/Shanghai"}},
		}},
		{"git by uvx", entry(uvx(), "mcp-server-git==2026.10.19", "--repository", repo), fmt.Sprintf(`{"write":[%q],"hosts":"none"}`, repo), []call{
			{"git_status", map[string]any{"repo_path": repo}}, {"git_log", map[string]any{"repo_path": repo}},
			{"git_branch", map[string]any{"repo_path": repo, "branch_type": "local"}},
		}},
		{"fetch by uvx", entry(uvx(), "mcp-server-fetch==2026.10.24", "--ignore-robots-txt", "--allow-private-ips"), fmt.Sprintf(`{"hosts":[%q]}`, host), []call{
			{"fetch", map[string]any{"url": address + "/x", "raw": true}},
		}},
	} {
		t.Run("install/published "+tt.name, func(t *testing.T) {
			g := mcptest.Gateway(t, patient(config("plain", tt.entry, "confined", with(tt.entry, "sandbox", tt.sandbox))))
			if tt.name == "everything" {
				// It asks for the roots a moment after the handshake. From then on each client
				// has a connection, and is listed the tools for what it offers.
				for _, name := range []string{"plain", "confined"} {
					g.Says("they will not share a connection from now on\" upstream=" + name)
				}
			}
			c := connectGo(t, ours.LatestLegacy, &mcp.StreamableClientTransport{Endpoint: g.URL + "/mcp"})
			plain := toolsOf(t, c, "plain__")
			if diff := cmp.Diff(plain, toolsOf(t, c, "confined__")); diff != "" || len(plain) == 0 {
				t.Fatalf("%d tools plain; confined they differ: %s\n%s", len(plain), diff, g.Stderr())
			}
			for _, call := range tt.calls {
				want := textOf(t, c, "plain__"+call.tool, call.arguments)
				if got := textOf(t, c, "confined__"+call.tool, call.arguments); got != want {
					t.Errorf("%s: %q, plain %q", call.tool, got, want)
				}
			}
		})
	}
}

// TestConfinedFilesystemServer gives the published server the whole disk, so
// that only the sandbox limits it.
func TestConfinedFilesystemServer(t *testing.T) {
	t.Parallel()
	mine, other := filepath.Join(t.TempDir(), "x"), filepath.Join(t.TempDir(), "x")
	// The server would list the disk to name a file that does not exist.
	for _, file := range []string{mine, other} {
		if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := with(entry(node(t), npmServer("server-filesystem"), "/"), "sandbox",
		fmt.Sprintf(`{"read":[%q],"write":[%q],"hosts":"none"}`, filepath.Join(cache, "npm"), filepath.Dir(mine)))
	c := connectGo(t, ours.LatestLegacy, &mcp.StreamableClientTransport{Endpoint: mcptest.Gateway(t, patient(config("files", e))).URL + "/mcp"})
	textOf(t, c, "files__write_file", map[string]any{"path": mine, "content": "new"})
	if data, err := os.ReadFile(mine); err != nil || string(data) != "new" {
		t.Errorf("its own file has %q, %v", data, err)
	}
	for tool, arguments := range map[string]map[string]any{
		"files__read_text_file": {"path": "/etc/shadow"},
		"files__write_file":     {"path": other, "content": "new"},
		"files__list_directory": {"path": filepath.Dir(other)},
	} {
		t.Run("install/attack "+tool, func(t *testing.T) {
			if text, failed := c.call(t, tool, arguments); !failed || !strings.Contains(text, "EACCES") {
				t.Errorf("%s", text)
			}
			if data, err := os.ReadFile(other); err != nil || string(data) != "old" {
				t.Errorf("the other file has %q, %v", data, err)
			}
		})
	}
}
