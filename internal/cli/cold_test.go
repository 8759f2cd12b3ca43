//go:build unix

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// leastCPU runs a command several times and returns the minimum CPU time,
// including its child processes.
func leastCPU(t *testing.T, env []string, name string, args ...string) time.Duration {
	t.Helper()
	var cpu []time.Duration
	for range 7 {
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		cpu = append(cpu, time.Duration(usage.Utime.Nano()+usage.Stime.Nano()))
	}
	slices.Sort(cpu)
	t.Logf("CPU of %v: %v", args, cpu)
	return cpu[0]
}

// TestColdStart bounds the CPU time of a command that only prints something.
func TestColdStart(t *testing.T) {
	if cpu := leastCPU(t, nil, mcptest.BuildProduct(t), "version"); cpu > 30*time.Millisecond {
		t.Errorf("version takes %v of CPU at best, want at most 30ms", cpu)
	}
}

// TestColdTester bounds the CPU time of the tester before a server has done any
// work: through a running gateway, and with its own server, where the time of
// the server and of the helper process is subtracted.
func TestColdTester(t *testing.T) {
	const most = 50 * time.Millisecond
	dir, binary := t.TempDir(), mcptest.BuildProduct(t)
	run, err := os.MkdirTemp("", "aio") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	env := []string{"HOME=" + dir, "XDG_STATE_HOME=" + dir, "XDG_RUNTIME_DIR=" + run}
	config := must.Write(t, filepath.Join(dir, "mcp.json"), fmt.Appendf(nil, `{"mcpServers":{"demo2":{"command":%q,"args":["demo"]}}}`, binary))
	gateway := mcptest.Start(t, mcptest.Program{Path: binary, Args: []string{"http", "-p", "0", "-c", config}, Env: env})
	gateway.Listening()
	for _, args := range [][]string{
		{"call", "demo2", "echo", "message=x", "-c", config},
		{"list", "tools", ".", "-c", config},
		{"history"},
		{"traffic", "-c", config},
	} {
		if cpu := leastCPU(t, env, binary, args...); cpu > most {
			t.Errorf("%v takes %v of CPU at best, want at most %v", args, cpu, most)
		}
	}
	// The CPU time of one of our processes that does nothing: the server and
	// the helper are such processes.
	idle := leastCPU(t, env, binary, "version")
	for _, args := range [][]string{
		{"list", "--", binary, "demo"},
		{"call", "echo", "message=x", "--protocol", "modern", "--", binary, "demo"},
	} {
		if cpu := leastCPU(t, env, binary, args...) - 2*idle; cpu > most {
			t.Errorf("%v takes %v of CPU at best without its server, want at most %v", args, cpu, most)
		}
	}
}
