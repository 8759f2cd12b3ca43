//go:build unix

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstall installs next to programs of others. Those stay, and make reports
// what it left. Uninstalling removes only our own files.
func TestInstall(t *testing.T) {
	prefix := t.TempDir()
	bin := filepath.Join(prefix, "bin")
	program := filepath.Join(t.TempDir(), "program")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(t *testing.T, target string) string {
		t.Helper()
		// The program is already built: -o makes make skip the build.
		out, err := exec.CommandContext(t.Context(), "make", "-s", "-o", "build", target, "BIN="+program, "PREFIX="+prefix, "DESTDIR=").CombinedOutput()
		if err != nil {
			t.Fatalf("make %s: %v\n%s", target, err, out)
		}
		return string(out)
	}
	text := func(name string) string {
		data, err := os.ReadFile(filepath.Join(bin, name))
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	write(program, "ours")
	write(filepath.Join(bin, "mcpx"), "theirs")
	if err := os.Symlink("elsewhere", filepath.Join(bin, "mcpx-sse")); err != nil {
		t.Fatal(err)
	}
	t.Run("true/15 make install", func(t *testing.T) {
		for range 2 { // the second time our own links exist
			out := run(t, "install")
			for _, name := range []string{"mcpx", "mcpx-sse"} {
				if !strings.Contains(out, filepath.Join(bin, name)+" is another program") {
					t.Errorf("%s is not said to be left: %s", name, out)
				}
			}
			if strings.Count(out, "is another program") != 2 {
				t.Errorf("said: %s", out)
			}
		}
		if text("mcpx") != "theirs" || text("mcp-tester") != "ours" || text("mcp-all-in-one") != "ours" {
			t.Errorf("mcpx is %q, mcp-tester %q, mcp-all-in-one %q", text("mcpx"), text("mcp-tester"), text("mcp-all-in-one"))
		}
	})
	t.Run("true/15 make uninstall", func(t *testing.T) {
		out := run(t, "uninstall")
		left, err := os.ReadDir(bin)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range left {
			names = append(names, e.Name())
		}
		if strings.Join(names, " ") != "mcpx mcpx-sse" || !strings.Contains(out, "mcpx is another program") {
			t.Errorf("left are %v; said: %s", names, out)
		}
		run(t, "uninstall") // everything is already removed
	})
}
