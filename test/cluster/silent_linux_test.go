package cluster

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// freeze stops the process of the replica. Its kernel still takes what is sent.
func (r *replica) freeze() {
	r.t.Helper()
	r.Signal(syscall.SIGSTOP)
	await(r.t, "the replica stands still", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.PID()))
		return err == nil && strings.Contains(string(stat), ") T ")
	})
}

// TestSilent checks that a replica that hangs, and may be alive, keeps its
// sessions: clients may retry.
func TestSilent(t *testing.T) {
	besideOthers(t)
	c := start(t, 2, options{})
	a, b := c.replicas[0], c.replicas[1]
	s := client(t, a, `{}`)
	a.freeze()
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

// TestEventsSilent checks that a page is told of a replica that hangs.
func TestEventsSilent(t *testing.T) {
	besideOthers(t)
	c := start(t, 2, options{members: true, access: `"access":{"keys":"keys.json"},`})
	a, b := c.replicas[0], c.replicas[1]
	events := a.follows(t.Context(), strings.TrimSpace(a.must("key", "create", "boss", "--scope", "admin")), "inbox,replicas")
	t.Run("cluster/events/silent", func(t *testing.T) {
		hears(t, events, "b", "hello")
		b.freeze()
		defer b.Signal(syscall.SIGCONT)
		hears(t, events, "b", "lost")
	})
}

// TestEndedUnheard checks that a replica that hung while clients ended their sessions
// does not begin these again when their replica dies.
func TestEndedUnheard(t *testing.T) {
	besideOthers(t)
	c := start(t, 2, options{members: true, access: withMetrics})
	a, b := c.replicas[0], c.replicas[1]
	list := []*mcptest.RawHTTP{client(t, a, `{}`), client(t, a, `{}`), client(t, a, `{}`)}
	b.freeze()
	for i, s := range list { // the kernel of b may keep what comes on a connection that is open
		if reply := s.Do(http.MethodDelete, ""); reply.Status != http.StatusNoContent {
			t.Errorf("DELETE: %d %s", reply.Status, reply.Body)
		}
		await(t, "replica b is not told", func() bool { return strings.Count(a.Stderr(), "path=/peer/v1/wants") > i })
	}
	b.Signal(syscall.SIGCONT)
	t.Run("cluster/restore/ended unheard", func(t *testing.T) {
		await(t, "replica b knows what has ended", func() bool { return b.metric("mcp_gateway_cluster_final") == fmt.Sprint(len(list)) })
		a.kill()
		for i, s := range list {
			if reply := at(s, b).Post(call(1, "back__echo", "x")); reply.Status != http.StatusNotFound || !strings.Contains(reply.Body, "session not found") {
				t.Errorf("session %d: %d %s", i, reply.Status, reply.Body)
			}
		}
	})
}
