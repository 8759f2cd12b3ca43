package stdio

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/mcptest/must"
)

// TestChildrenInheritNothing runs a gateway that has inherited open files, and has
// opened many itself, some of them without close-on-exec.
func TestChildrenInheritNothing(t *testing.T) {
	secret, err := os.Create(filepath.Join(t.TempDir(), "secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	cmd := exec.CommandContext(t.Context(), testBinary(), "__role", "files", secret.Name())
	cmd.ExtraFiles = []*os.File{secret, r, w}
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, who := range []string{"first", "second"} {
		t.Run("door/15 "+who+" child", func(t *testing.T) {
			var got []string
			for _, line := range lines {
				if rest, ok := strings.CutPrefix(line, who+" "); ok {
					got = append(got, rest)
				}
			}
			slices.Sort(got)
			if len(got) != 3 || got[0][0] != '0' || got[1][0] != '1' || got[2][0] != '2' {
				t.Errorf("open files: %q", got)
			}
		})
	}
	t.Run("door/15 helper", func(t *testing.T) {
		pipe, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", r.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if strings.HasPrefix(line, "helper ") && (strings.Contains(line, secret.Name()) || strings.HasSuffix(line, pipe)) {
				t.Errorf("has %s", line)
			}
		}
	})
}

// TestEachFileIsKept checks the fallback for older kernels and other systems, which
// marks each file.
func TestEachFileIsKept(t *testing.T) {
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	must.OK(t, keepEach())
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("door/15: flags of an open file: %d, %v", flags, err)
	}
}
