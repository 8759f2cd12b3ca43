package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// installed is the folder with the published packages for Node.js.
var installed = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("bash", "../interop/deps.sh").Output()
	return filepath.Join(strings.TrimSpace(string(out)), "npm"), err
})

// script returns the command of one of our scripts, next to the packages that
// it imports.
func script(t *testing.T, name string, args ...string) mcptest.Program {
	t.Helper()
	dir, err := installed()
	if err != nil {
		t.Fatalf("cannot install the TypeScript SDK (%v); run: make interop-deps", err)
	}
	source, err := os.ReadFile(filepath.Join("scripts", name))
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.MkdirTemp(dir, "run-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	path := filepath.Join(run, name)
	if err := os.WriteFile(path, source, 0o600); err != nil {
		t.Fatal(err)
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	node := filepath.Join(dir, "node_modules", fmt.Sprintf("node-%s-%s", runtime.GOOS, arch), "bin", "node")
	if _, err := os.Stat(node); err != nil {
		node = "node" // no package for this machine: use its own
	}
	return mcptest.Program{Path: node, Args: append([]string{path}, args...)}
}

// scriptCell runs the official TypeScript client and reads its report.
func scriptCell(t *testing.T, version string, to target, ask string) {
	args := []string{version, ask, to.url}
	if to.url == "" {
		args = append([]string{version, ask, to.command.Path}, to.command.Args...)
	}
	p := script(t, "client.mjs", args...)
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Env = append(os.Environ(), to.command.Env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the client: %v\n%s", err, out)
	}
	var saw struct {
		Error, Version, Hello, Asked, Long, Cancelled, Still string
		Tools                                                []string
	}
	if err := json.Unmarshal(out, &saw); err != nil || saw.Error != "" {
		t.Fatalf("the client failed: %v\n%s", err, out)
	}
	// The client cancels after progress, so it got progress. For a short task
	// it may not: the SDK drops its handler when it has the response.
	want := map[string]string{"ask_name": "Ada", "ask_model": "four"}[ask]
	if saw.Version != version || !strings.Contains(strings.Join(saw.Tools, " "), "demo__echo") || saw.Hello != "hello" ||
		!strings.Contains(saw.Asked, want) || saw.Long != "done after 3 steps" ||
		saw.Cancelled != "cancelled" || saw.Still != "still here" {
		t.Errorf("the client saw %s", out)
	}
}

// scriptEntry returns the entry of the official TypeScript server.
func scriptEntry(t *testing.T, transport string, _ mcp.Era) string {
	p := script(t, "server.mjs", transport)
	if transport == "stdio" {
		return fmt.Sprintf(`{"command":%q,"args":[%q,%q]`, p.Path, p.Args[0], p.Args[1])
	}
	return fmt.Sprintf(`{"type":"http","url":%q`, mcptest.Start(t, p).Listening()+"/mcp")
}
