//go:build (linux || darwin) && !race

package stdio_test

import (
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
)

// TestRelayAllocations bounds what passing a call on allocates beside what the
// client and the server do without it: the memory of a request is used again.
func TestRelayAllocations(t *testing.T) {
	b := newBench(t)
	relayed, _ := b.client(t)
	ctx := within(t)
	count := func(c *jsonrpc.Conn) float64 {
		return testing.AllocsPerRun(500, func() {
			resp, err := c.Call(ctx, &jsonrpc.Request{Method: "tools/call", Params: []byte(`{"text":"small"}`)})
			if err != nil || resp.Err != nil {
				t.Fatalf("calling: %v, %+v", err, resp)
			}
			resp.Release()
		})
	}
	direct := count(b.back)
	if n := count(relayed) - direct; n > maxRelayAllocations {
		t.Errorf("passing a call on makes %.0f allocations, more than %d", n, maxRelayAllocations)
	}
}

// maxRelayAllocations is what was measured: the answer.
const maxRelayAllocations = 1
