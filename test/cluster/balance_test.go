package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/balancers"
)

// ports returns the ports of the replicas, for a balancer.
func (c *cluster) ports() (list []string) {
	for _, r := range c.replicas {
		list = append(list, r.port)
	}
	return list
}

// TestBalancers runs clients through the balancers whose files we ship.
func TestBalancers(t *testing.T) {
	for _, b := range []balancers.Balancer{balancers.HAProxy(t), balancers.Nginx(t)} {
		t.Run("cluster/balancer/"+b.Name, func(t *testing.T) {
			c := start(t, 3, options{members: true, access: behindBalancer})
			base := b.Start(t, c.ports())
			s := known(t, base+"/mcp")
			s.Initialize(legacy, `{"elicitation":{}}`)
			for i := range 6 {
				wants(t, s.Post(call(i, "back__echo", fmt.Sprint("hello ", i))).Answer(t), fmt.Sprint("hello ", i))
			}
			large := strings.Repeat("large ", 600_000)
			wants(t, s.Post(call(7, "back__echo", large)).Answer(t), large)
			// A question and its answer show that the balancer does not buffer
			// a stream.
			asks := s.Stream(http.MethodPost, call(8, "back__ask", "hello"))
			asked := asks.Message(t, "the question", func(m *mcptest.Message) bool { return m.Method == "elicitation/create" })
			s.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ada"}}}`, asked.ID))
			wants(t, asks.Message(t, "the answer", func(m *mcptest.Message) bool { return m.Method == "" }), "hello Ada")
			events := s.Stream(http.MethodGet, "")
			if reply := s.Do(http.MethodDelete, ""); reply.Status != http.StatusNoContent {
				t.Errorf("DELETE: %d %s", reply.Status, reply.Body)
			}
			for events.Next() != nil {
			}
		})
	}
}
