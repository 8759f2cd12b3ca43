package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// dnx cannot be confined, so its packages are added without a sandbox or not at all.
func TestInstallNuGet(t *testing.T) {
	i := newInstaller(t)
	bin := t.TempDir()
	must.Program(t, filepath.Join(bin, "dnx"), "#!/bin/sh\nexec "+i.program+" demo\n")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	const name = "io.github.domdomegg/time-mcp-nuget"
	t.Run("install/nuget/refused", func(t *testing.T) {
		_, stderr, code := i.run(t, "add", name, "--yes")
		if code != 1 || !strings.Contains(stderr, "error[AIO2164]: time-mcp-nuget: dnx cannot be confined") || !strings.Contains(stderr, "--no-sandbox") {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
	})
	t.Run("install/nuget/without a sandbox", func(t *testing.T) {
		_, stderr, code := i.run(t, "add", name, "--yes", "--no-sandbox")
		if code != 0 || !strings.Contains(stderr, "sandbox  off: it can do all that you can") || !strings.Contains(stderr, "started: time-mcp-nuget, ") {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		if _, stderr, code := i.run(t, "update", "time-mcp-nuget"); code != 0 || !strings.Contains(stderr, "nothing to update") {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
	})
}
