package upgrade

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
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
	if got := content(t, Old(program)); got != "older" {
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
			if err := os.Symlink(old+".real", old); err != nil {
				t.Fatal(err)
			}
		},
		"a file that others may write to": func(t *testing.T, old string) { write(t, old, "evil", 0o777) },
	} {
		program := filepath.Join(t.TempDir(), name)
		write(t, program, "new", 0o755)
		plant(t, Old(program))
		if err := Undo(program); err == nil || !strings.Contains(err.Error(), Old(program)) {
			t.Errorf("get/upgrade %s: %v", what, err)
		}
		if got := content(t, program); got != "new" {
			t.Errorf("get/upgrade %s: the program is %q", what, got)
		}
	}
}
