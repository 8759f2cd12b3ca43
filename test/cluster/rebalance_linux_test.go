package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	agreed "mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/mcptest"
)

// TestRebalance checks that a server moves back to where it belongs on command,
// and only while it is idle.
func TestRebalance(t *testing.T) {
	besideOthers(t)
	c, log := placed(t, "")
	has, others := c.owner(t, c.replicas...)
	has.kill()
	stays, _ := c.owner(t, others...)
	has.start()
	has.ready()
	rebalance := func() (out agreed.Rebalanced) {
		t.Helper()
		if err := json.Unmarshal([]byte(has.must("cluster", "rebalance", "--json")), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	await(t, "all have found each other", func() bool { s, _ := has.status(); return len(s.Members) == 3 && s.Placed[0].Node == stays.name })
	t.Run("cluster/rebalance/in use", func(t *testing.T) {
		s := client(t, others[0], `{}`)
		running := s.Stream(http.MethodPost, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"once__long_task","arguments":{"seconds":2,"steps":2},"_meta":{"progressToken":"p"}}}`)
		running.Message(t, "progress", func(m *mcptest.Message) bool { return m.Method == "notifications/progress" })
		if out := rebalance(); len(out.Moved) != 0 || len(out.Busy) != 1 || out.Busy[0] != (agreed.Move{Server: "default/once", From: stays.name, To: has.name}) {
			t.Errorf("%+v", out)
		}
		running.Message(t, "the answer", func(m *mcptest.Message) bool { return m.Method == "" && m.Error == nil })
	})
	t.Run("cluster/rebalance/idle", func(t *testing.T) {
		moved := false
		await(t, "the server is idle", func() bool { // the response is sent before the call is counted as ended
			moved = len(rebalance().Moved) == 1
			return moved
		})
		for i := range 10 {
			for _, r := range c.replicas {
				text := fmt.Sprint("call ", i, " by ", r.name)
				wants(t, says(t, r, text), text)
			}
		}
		if now, _ := c.owner(t, c.replicas...); now != has {
			t.Errorf("%s has it", now.name)
		}
		if two, err := os.ReadFile(log + ".two"); err == nil {
			t.Errorf("two processes at once: %s", two)
		}
		if out := has.must("cluster", "rebalance"); !strings.Contains(out, "where it belongs") {
			t.Error(out)
		}
	})
}
