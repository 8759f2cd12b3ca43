package script

import (
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/stdio"
)

// newRunner runs scripts with the product binary: the test binary may have the
// race detector, which needs more memory than a script may use.
func newRunner(t testing.TB) *Runner {
	t.Helper()
	exe := mcptest.BuildProduct(t)
	l := stdio.NewLauncher(stdio.LauncherOptions{Exe: exe})
	r := NewRunner(l, exe)
	t.Cleanup(func() { r.Close(); l.Close() })
	return r
}
