package cluster

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// BenchmarkCall measures a call at the replica of the session, and at another
// one, which forwards it: with one client, and with sixteen at once. Each call
// echoes a text of 100 bytes.
func BenchmarkCall(b *testing.B) {
	c := start(b, 2, options{})
	for _, parallel := range []int{1, 16} {
		for name, r := range map[string]*replica{"local": c.replicas[0], "forwarded": c.replicas[1]} {
			b.Run(fmt.Sprintf("%s/C=%d", name, parallel), func(b *testing.B) {
				clients := make([]*mcptest.RawHTTP, parallel)
				for i := range clients {
					clients[i] = at(client(b, c.replicas[0], `{}`), r)
				}
				line := call(1, "back__echo", strings.Repeat("x", 100))
				var left, done atomic.Int64
				left.Store(int64(b.N))
				b.ResetTimer()
				ended := make(chan struct{}, parallel)
				for _, one := range clients {
					go func() {
						for left.Add(-1) >= 0 {
							if m := one.Post(line).Answer(b); m.Error == nil {
								done.Add(1)
							}
						}
						ended <- struct{}{}
					}()
				}
				for range clients {
					<-ended
				}
				if done.Load() != int64(b.N) {
					b.Errorf("%d of %d calls succeeded", done.Load(), b.N)
				}
			})
		}
	}
}
