package cluster

import (
	"fmt"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// TestWeight checks that the heavier replica takes the servers that run once.
func TestWeight(t *testing.T) {
	besideOthers(t)
	server := mcptest.StartNATS(t)
	servers := ""
	for i := range 6 {
		servers += fmt.Sprintf(`,"once%d":{"command":%q}`, i, mcptest.Build(t))
	}
	weights := []int{1, 1000}
	c := start(t, 2, options{
		servers: servers, section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL),
		between: func(i int, peer string) (string, string) { return peer, fmt.Sprintf(`,"weight":%d`, weights[i]) },
	})
	c.replicas[0].sees("a ready, b ready")
	t.Run("cluster/weight", func(t *testing.T) {
		s, _ := c.replicas[0].status()
		for i, m := range s.Members {
			if m.Weight != weights[i] {
				t.Errorf("%s has the weight %d", m.Node, m.Weight)
			}
		}
		if t.Failed() {
			return
		}
		await(t, "all servers are at b", func() bool {
			c.replicas[0].must("cluster", "rebalance")
			s, _ := c.replicas[0].status()
			for _, p := range s.Placed {
				if p.Node != "b" {
					return false
				}
			}
			return len(s.Placed) == 6
		})
	})
}
