package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestMain lets the test binary run as the helper and the demo server of a
// gateway in the test process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == helperCommand || os.Args[1] == "demo") {
		os.Exit(Run(context.Background(), env.Env{Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	os.Exit(m.Run())
}

// TestScripts runs every script in testdata.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scriptParams(t, filepath.Join("testdata", "script")))
}

// scriptParams gives each script its own home directory and the commands of
// script_commands_test.go.
func scriptParams(t *testing.T, dir string, files ...string) testscript.Params {
	bin := installed(t)
	return testscript.Params{
		Dir: dir, Files: files, Cmds: scriptCommands, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			e.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
			// The path of a socket must be short.
			run, err := os.MkdirTemp("", "aio")
			if err != nil {
				return err
			}
			e.Defer(func() { os.RemoveAll(run) })
			e.Setenv("XDG_RUNTIME_DIR", run)
			e.Setenv("MCP_AIO_LANG", "en")
			e.Setenv("NO_COLOR", "1")
			e.Setenv("GORACE", os.Getenv("GORACE"))
			if dir := mcptest.CoverDir(); dir != "" {
				e.Setenv("GOCOVERDIR", dir)
			}
			return os.MkdirAll(home, 0o700)
		},
	}
}

// installed returns a folder with the product under each of its names.
func installed(t *testing.T) string {
	product, dir := mcptest.BuildProduct(t), t.TempDir()
	for name := range env.Personalities() {
		must.OK(t, os.Symlink(product, filepath.Join(dir, name)))
	}
	return dir
}
