package upgrade

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	must.Write(t, path, content)
	must.OK(t, os.Chmod(path, mode))
}

// TestFailedSwap checks that the way back remains if a program cannot be
// replaced.
func TestFailedSwap(t *testing.T) {
	dir := t.TempDir()
	program, fresh := filepath.Join(dir, name), filepath.Join(dir, "fresh")
	write(t, fresh, "new", 0o755)
	write(t, Old(program), "older", 0o755)
	if err := swap(fresh, program, Old(program)); err == nil {
		t.Error("get/upgrade a program that is not there was replaced")
	}
	if got := must.Read(t, Old(program)); got != "older" {
		t.Errorf("get/upgrade the older copy is %q", got)
	}
}

// TestUndoTakesNoFileOfOthers checks that in a folder that others may write to,
// such as /tmp, no file of theirs becomes the program.
func TestUndoTakesNoFileOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // others are told apart by access lists there, which internal/disk tests
	}
	for what, plant := range map[string]func(t *testing.T, old string){
		"a link": func(t *testing.T, old string) {
			write(t, old+".real", "evil", 0o755)
			must.OK(t, os.Symlink(old+".real", old))
		},
		"a file that others may write to": func(t *testing.T, old string) { write(t, old, "evil", 0o777) },
	} {
		program := filepath.Join(t.TempDir(), name)
		write(t, program, "new", 0o755)
		plant(t, Old(program))
		if err := Undo(program); err == nil || !strings.Contains(err.Error(), Old(program)) {
			t.Errorf("get/upgrade %s: %v", what, err)
		}
		if got := must.Read(t, program); got != "new" {
			t.Errorf("get/upgrade %s: the program is %q", what, got)
		}
	}
}
