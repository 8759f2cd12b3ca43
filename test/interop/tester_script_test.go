package interop

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mcp-all-in-one/internal/mcptest"
)

// TestTesterCommands runs every command of the tester against published
// servers: in their own era, and in the other one through the gateway.
func TestTesterCommands(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	for name, path := range map[string]string{"mcp-all-in-one": mcptest.BuildProduct(t), "node": node(t)} {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "tester"), RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
			e.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			e.Setenv("MCP_AIO_LANG", "en")
			e.Setenv("NO_COLOR", "1")
			e.Setenv("EVERYTHING", npmServer("server-everything"))
			e.Setenv("FILES", npmServer("server-filesystem"))
			e.Setenv("MEMORY", npmServer("server-memory"))
			return os.MkdirAll(home, 0o700)
		},
	})
}
