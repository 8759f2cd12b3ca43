package gateway_test

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
)

// TestServerOfAnotherEra replaces a server by one of the other era and back, under
// clients that call it in lanes: each call is answered, and the next ones take
// the short way again.
func TestServerOfAnotherEra(t *testing.T) {
	for _, client := range []mcp.Era{mcp.Legacy, mcp.Modern} {
		t.Run(client.String()+" client", func(t *testing.T) {
			t.Parallel()
			v, c := newVisitor(t, &parrot{modern: true}), caller{}
			if client == mcp.Legacy {
				c.session = v.greet()
			}
			call := c.call()
			until(t, "the server is called", func() bool { return strings.HasPrefix(v.post(v.kept, &call), "200") })
			for i := range 3 {
				for n := range 5 {
					before := v.long.Load()
					got := v.seen(v.kept, &call)
					if !strings.HasPrefix(got, "200") || !strings.Contains(got, "hello") || strings.Contains(got, `"resultType"`) != (client == mcp.Modern) {
						t.Fatalf("server %d, call %d: %s", i, n, got)
					}
					if n > 3 && v.long.Load() != before {
						t.Errorf("server %d, call %d took the long way", i, n)
					}
				}
				v.server.swap()
			}
		})
	}
}
