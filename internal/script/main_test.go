package script

import (
	"os"
	"testing"

	"mcp-all-in-one/internal/stdio"
)

// TestMain lets the test program be the processes that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "__helper":
			os.Exit(stdio.RunHelper(nil))
		case Command:
			os.Exit(RunChild())
		}
	}
	os.Exit(m.Run())
}

// newRunner starts scripts with the test program itself.
func newRunner(t testing.TB) *Runner {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := stdio.NewLauncher(stdio.LauncherOptions{Exe: exe})
	r := NewRunner(l, exe)
	t.Cleanup(func() { r.Close(); l.Close() })
	return r
}
