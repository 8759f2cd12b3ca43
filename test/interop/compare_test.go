package interop

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// TestComparePublished compares five published servers with and without the
// gateway, for clients of both eras. make guide does it with many more.
func TestComparePublished(t *testing.T) {
	t.Parallel()
	build := func(module, folder string) []string {
		path, err := buildFrom(module, folder)
		if err != nil {
			t.Fatal(err)
		}
		return []string{path}
	}
	for name, s := range map[string]struct {
		both    bool // it speaks both eras
		command []string
	}{
		"server-everything":    {false, []string{node(t), npmServer("server-everything")}},
		"server-filesystem":    {false, []string{node(t), npmServer("server-filesystem"), t.TempDir()}},
		"server-memory":        {false, []string{node(t), npmServer("server-memory")}},
		"everything of mcp-go": {true, build("github.com/mark3labs/mcp-go", "examples/everything")},
		"memory of the Go SDK": {true, build(goSDK, "examples/server/memory")},
	} {
		t.Run("true/compare "+name, func(t *testing.T) {
			args := append([]string{"compare", "--direct", "--no-history", "--json", "--env", "MEMORY_FILE_PATH=" + filepath.Join(t.TempDir(), "memory.json"), "--ignore", ".content[1].resource.text", "--"}, s.command...)
			out, code := runProgram(t, "", mcptest.BuildProduct(t), args...)
			var report struct {
				Pairings []struct{ Client, Server string }
			}
			if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 {
				t.Fatalf("ended with %d, %v: %s", code, err, out)
			}
			for _, client := range []string{"legacy", "modern"} {
				for _, server := range map[bool][]string{false: {"legacy"}, true: {"legacy", "modern", "auto"}}[s.both] {
					if !slices.Contains(report.Pairings, struct{ Client, Server string }{client, server}) {
						t.Errorf("no %s client before a %s server: %v", client, server, report.Pairings)
					}
				}
			}
		})
	}
}
