package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts run the program: the test binary under its names.
func TestMain(m *testing.M) {
	run := func() {
		os.Exit(Run(context.Background(), Env{Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	commands := map[string]func(){}
	for name := range personalities() {
		commands[name] = run
	}
	if len(os.Args) > 1 && (os.Args[1] == helperCommand || os.Args[1] == "demo") {
		run() // as a part of a gateway that a test runs in its own process
	}
	testscript.Main(m, commands)
}

// TestScripts runs every script of testdata: a command line each.
func TestScripts(t *testing.T) {
	testscript.Run(t, scriptParams(filepath.Join("testdata", "script")))
}

// scriptParams give each script a home of its own and the commands of
// script_commands_test.go.
func scriptParams(dir string, files ...string) testscript.Params {
	return testscript.Params{
		Dir: dir, Files: files, Cmds: scriptCommands, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
			// A socket's path is short.
			run, err := os.MkdirTemp("", "aio")
			if err != nil {
				return err
			}
			e.Defer(func() { os.RemoveAll(run) })
			e.Setenv("XDG_RUNTIME_DIR", run)
			e.Setenv("MCP_AIO_LANG", "en")
			e.Setenv("NO_COLOR", "1")
			return os.MkdirAll(home, 0o700)
		},
	}
}
