package script

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestYield checks that a script that computes for long gives way to other
// processes with all its threads: on Linux each thread has its own priority.
func TestYield(t *testing.T) {
	t.Run("code/bomb yields", func(t *testing.T) {
		r := newRunner(t)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		c, err := r.start(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer c.end()
		params := must.JSON(t, &Job{Code: "for (;;);", Limits: Limits{CPU: time.Minute}.Or(Defaults)})
		go c.conn.Call(ctx, &jsonrpc.Request{Method: MethodRun, Params: params})
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			busy := threads(t, c.PID())
			if len(busy) > 0 && !slices.ContainsFunc(busy, func(nice string) bool { return nice != "19" }) {
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatalf("the threads that compute have the priorities %v", busy)
			}
		}
	})
}

// threads returns the priorities of the threads of a process that have computed.
func threads(t *testing.T, pid int) (nice []string) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(files) == 0 {
		t.Fatal("the process has ended", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		_, rest, _ := strings.Cut(string(raw), ") ")
		f := strings.Fields(rest)
		if f[11] != "0" { // its time in user mode
			nice = append(nice, f[16])
		}
	}
	return nice
}
