//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/sandbox/launcher"
)

// TestOlderKernels confines programs with what the Landlock of older kernels can
// restrict (ABI 1 is Linux 5.13, 5 is 6.10). The filter makes up for the rest, but for
// what status shows as missing.
func TestOlderKernels(t *testing.T) {
	tcp := listenTCP(t, "127.0.0.1:0")
	sock := filepath.Join(shortDir(t), "s")
	listenUnix(t, sock)
	for abi := 1; abi <= min(6, launcher.ABI()); abi++ {
		older := fmt.Sprintf("abi=%d", abi)
		own, other, secret := folderPair(t)
		readable, victim := filepath.Join(filepath.Dir(own), "readable"), filepath.Join(other, "victim")
		for _, file := range []string{readable, victim} {
			must.Write(t, file, "mine")
		}
		must.Folder(t, own, "sub")
		base := Profile{Read: []string{readable}, Write: []string{own}}
		for _, tt := range []struct {
			attack string
			args   []string
			from   int // the first ABI with which it works; 0 is never
			before int // the first ABI with which it does not work; 0 is never
		}{
			{attack: "read", args: []string{secret}},
			{attack: "list", args: []string{other}},
			{attack: "create", args: []string{filepath.Join(other, "new")}},
			{attack: "append", args: []string{readable}},
			{attack: "truncate", args: []string{secret}},
			{attack: "truncate", args: []string{readable}},
			{attack: "empty", args: []string{readable}},
			{attack: "empty2", args: []string{readable}},
			{attack: "rename", args: []string{filepath.Join(other, "moved")}},
			{attack: "link", args: []string{secret}},
			{attack: "remove", args: []string{victim}},
			{attack: "device"},
			{attack: "environ"},
			{attack: "memory"},
			{attack: "tcp", args: []string{tcp}},
			{attack: "unix", args: []string{sock}},
			{attack: "bind"},
			{attack: "signal", before: 6}, // status says so
			{attack: "create", args: []string{"new"}, from: 1},
			{attack: "chmod", args: []string{"new"}, from: 1},
			{attack: "exec", from: 1},
			{attack: "rename", args: []string{"sub/moved"}, from: 2},
			{attack: "truncate", args: []string{"new"}, from: 3},
		} {
			want := tt.from > 0 && abi >= tt.from || tt.before > 0 && abi < tt.before
			t.Run(fmt.Sprintf("install/abi %d %s %s", abi, tt.attack, strings.Join(tt.args, " ")), func(t *testing.T) {
				if out, got := run(t, base, []string{older}, own, append([]string{"attack", tt.attack}, tt.args...)...); got != want {
					t.Errorf("it got through: %v, want %v: %s", got, want, out)
				}
				if data, err := os.ReadFile(readable); err != nil || string(data) != "mine" {
					t.Errorf("the readable file has %q, %v", data, err)
				}
			})
		}
	}
}

// TestRepeatedCalls lets signals take calls back from the helper, as kernels before
// 5.19 do. The thread makes them again, and must not notice.
func TestRepeatedCalls(t *testing.T) {
	keeps := keepsCalls
	t.Cleanup(func() { keepsCalls = keeps })
	keepsCalls = func() bool { return false }
	tcp := listenTCP(t, "127.0.0.1:0")
	own, _, _ := folderPair(t)
	if out, ok := run(t, Profile{Write: []string{own}, Addresses: []string{tcp}}, []string{"wait"}, own, "attack", "interrupted", tcp); !ok {
		t.Errorf("install/repeated: %s", out)
	}
}

// What a kernel lacks is shown, and without Landlock nothing is confined.
func TestMissing(t *testing.T) {
	t.Cleanup(func(newest int) func() { return func() { launcher.Newest = newest } }(launcher.Newest))
	real := launcher.ABI()
	for abi, want := range map[int][]string{1: {"signals", "devices"}, 3: {"signals", "devices"}, 5: {"signals"}, 6: nil} {
		if abi > real {
			continue
		}
		launcher.Newest = abi
		if got := Missing(); !slices.Equal(got, want) {
			t.Errorf("install/missing %d: %v, want %v", abi, got, want)
		}
	}
	launcher.Newest = 4
	if got := Summary(config.Sandbox{On: true}); got != "files; not signals, devices" {
		t.Errorf("install/missing: %s", got)
	}
	launcher.Newest = 0
	if err := Supported(); err == nil || !strings.Contains(err.Error(), "Landlock") {
		t.Errorf("install/missing: %v", err)
	}
}
