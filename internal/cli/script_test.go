package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts run the program: the test binary under its name.
func TestMain(m *testing.M) {
	run := func() {
		os.Exit(Run(context.Background(), Env{Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	testscript.Main(m, map[string]func(){"mcp-all-in-one": run})
}

// TestScripts runs every script of testdata: a command line each.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
			e.Setenv("MCP_AIO_LANG", "en")
			e.Setenv("NO_COLOR", "1")
			return os.MkdirAll(home, 0o700)
		},
	})
}
