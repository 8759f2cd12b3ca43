package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// TestPlaces checks that the calls of a key to a server that runs once are counted
// at all replicas.
func TestPlaces(t *testing.T) {
	besideOthers(t)
	server := mcptest.StartNATS(t)
	c, _ := placedWith(t, "", options{
		section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL),
		access:  withMetrics + `"access":{"enabled":true,"keys":"keys.json"},"limits":{"inFlightPerKey":1},`,
	})
	key := strings.TrimSpace(c.replicas[0].must("key", "create", "desk", "--scope", "admin"))
	for _, r := range c.replicas {
		enters(t, r, key)
	}
	has, others := c.owner(t, c.replicas...)
	for _, from := range []*replica{others[1], has} {
		t.Run("cluster/place/places/"+from.name, func(t *testing.T) {
			const hits = `mcp_gateway_limit_hits_total{limit="inFlightPerKey"}`
			first, second := holder(t, others[0], key), holder(t, from, key)
			first.Initialize(legacy, `{}`)
			second.Initialize(legacy, `{}`)
			running := first.Stream(http.MethodPost, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"once__long_task","arguments":{"seconds":600,"steps":600},"_meta":{"progressToken":"p"}}}`)
			running.Message(t, "progress", func(m *mcptest.Message) bool { return m.Method == "notifications/progress" })
			before := has.figure(key, hits)
			answer := make(chan *mcptest.Reply, 1)
			go func() {
				answer <- second.Post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"once__echo","arguments":{"message":"after it"}}}`)
			}()
			await(t, "the second call waits", func() bool { return has.figure(key, hits) != before })
			first.Post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
			wants(t, (<-answer).Answer(t), "after it")
		})
	}
}
