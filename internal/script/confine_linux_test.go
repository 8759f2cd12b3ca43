package script

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestConfined checks that the process of a script has no environment, no files
// but its pipe, and limits that let it open none.
func TestConfined(t *testing.T) {
	t.Run("code/wall", func(t *testing.T) {
		t.Setenv("SECRET_OF_THE_GATEWAY", "1")
		c, err := newRunner(t).start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.end()
		_, _ = c.conn.Call(t.Context(), &jsonrpc.Request{Method: "ping"}) // it responds when it is ready
		proc := fmt.Sprintf("/proc/%d", c.PID())
		if raw, err := os.ReadFile(proc + "/environ"); err != nil || len(raw) > 0 {
			t.Errorf("the environment is %q, %v", raw, err)
		}
		limits := []byte(must.Read(t, proc+"/limits"))
		for _, want := range []string{`Max open files +5 +5 `, `Max file size +0 +0 `, `Max core file size +0 +0 `} {
			if !regexp.MustCompile(want).Match(limits) {
				t.Errorf("the limits lack %q: %s", want, limits)
			}
		}
		own := regexp.MustCompile(`^(pipe:|anon_inode:|/sys/fs/cgroup/)`) // its pipe, and what the Go runtime opens at its start
		open, err := filepath.Glob(proc + "/fd/*")
		if err != nil || len(open) < files { // so there is no number left for another
			t.Errorf("open are %v, %v", open, err)
		}
		for _, fd := range open {
			if to, err := os.Readlink(fd); err != nil || !own.MatchString(to) {
				t.Errorf("%s is %s, %v", fd, to, err)
			}
		}
	})
}
