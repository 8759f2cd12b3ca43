package cluster

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestSilent checks that a replica that hangs, and may be alive, keeps its
// sessions: clients may retry.
func TestSilent(t *testing.T) {
	besideOthers(t)
	c := start(t, 2, options{})
	a, b := c.replicas[0], c.replicas[1]
	s := client(t, a, `{}`)
	a.Signal(syscall.SIGSTOP)
	await(t, "the replica stands still", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", a.PID()))
		return err == nil && strings.Contains(string(stat), ") T ")
	})
	t.Run("cluster/unreachable", func(t *testing.T) {
		reply := at(s, b).Post(call(8, "back__echo", "silent"))
		m := reply.Answer(t)
		if reply.Status != http.StatusOK || m.Error == nil || m.Error.Code != -32603 || string(m.Error.Data) != `{"reason":"upstream_unavailable","retryable":true}` {
			t.Errorf("%d %s", reply.Status, reply.Body)
		}
	})
	a.Signal(syscall.SIGCONT)
	t.Run("cluster/reachable again", func(t *testing.T) {
		wants(t, at(s, b).Post(call(9, "back__echo", "again")).Answer(t), "again")
		if c.back.ran["silent"] != 0 || b.restored() != 0 {
			t.Error("what was not sent ran, or the session moved")
		}
	})
}
