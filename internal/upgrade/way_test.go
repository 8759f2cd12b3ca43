package upgrade

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

func TestWays(t *testing.T) {
	dir := t.TempDir()
	must.OK(t, os.MkdirAll(filepath.Join(dir, "venv/lib/python3.12/site-packages/mcp_all_in_one-1.0.0.dist-info"), 0o755))
	for path, want := range map[string][2]string{
		"/home/x/.npm/_npx/1a2b/node_modules/@mcp-all-in-one/linux-x64/bin/mcp-all-in-one": {"npx", "npx "},
		"/usr/lib/node_modules/mcp-all-in-one/bin/mcp-all-in-one":                          {"npm", "npm install -g"},
		"/home/x/.local/share/uv/tools/mcp-all-in-one/bin/mcp-all-in-one":                  {"uv", "uv tool upgrade"},
		"/home/x/.local/share/pipx/venvs/mcp-all-in-one/bin/mcp-all-in-one":                {"pipx", "pipx upgrade"},
		"/opt/homebrew/Cellar/mcp-all-in-one/1.0.0/bin/mcp-all-in-one":                     {"Homebrew", "brew upgrade"},
		filepath.Join(dir, "venv/bin/mcp-all-in-one"):                                      {"pip", "pip install --upgrade"},
		filepath.Join(dir, "bin/mcp-all-in-one"):                                           {"source", "make install"},
	} {
		if way := WayOf(path); way.Name != want[0] || !strings.Contains(way.How.String(), want[1]) {
			t.Errorf("get/upgrade %s: %s, %s", path, way.Name, way.How)
		}
	}
}

func TestVersions(t *testing.T) {
	const sum = "0000000000000000000000000000000000000000000000000000000000000000  "
	for list, want := range map[string]string{
		sum + "mcp-all-in-one-1.2.0-linux-amd64.tar.gz\n":                                                     "1.2.0",
		sum + "mcp-all-in-one-1.2.0-rc.1-linux-armv7.tar.gz\n":                                                "1.2.0-rc.1",
		sum + "mcp-all-in-one-1.2.0-windows-arm64.zip\n":                                                      "1.2.0",
		sum + "npm/mcp-all-in-one-9.9.9.tgz\n":                                                                "",
		sum + "mcp-all-in-one-1.2.0-linux-amd64.tar.gz\n" + sum + "mcp-all-in-one-1.3.0-linux-arm64.tar.gz\n": "1.2.0 and 1.3.0",
	} {
		r := &Release{}
		err := r.read([]byte(list))
		if strings.Contains(want, " ") || want == "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("get/upgrade %q: %v", list, err)
			}
			continue
		}
		if err != nil || r.Version != want {
			t.Errorf("get/upgrade %q: %q, %v", list, r.Version, err)
		}
	}
}
