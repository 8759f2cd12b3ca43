//go:build unix

package cli_test

import (
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// TestColdStart bounds what a command costs that only prints something.
func TestColdStart(t *testing.T) {
	binary := mcptest.BuildProduct(t)
	var cpu []time.Duration
	for range 7 {
		cmd := exec.Command(binary, "version")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		cpu = append(cpu, time.Duration(usage.Utime.Nano()+usage.Stime.Nano()))
	}
	slices.Sort(cpu)
	t.Logf("CPU of version: %v", cpu)
	if cpu[0] > 30*time.Millisecond {
		t.Errorf("version takes %v of CPU at best, want at most 30ms", cpu[0])
	}
}
