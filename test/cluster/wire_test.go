package cluster

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// TestWire checks that a release with neighbouring formats joins a cluster, and that
// one that is too far apart ends with the reason, whichever is newer.
func TestWire(t *testing.T) {
	server := mcptest.StartNATS(t)
	for name, o := range map[string]options{
		"members": {members: true}, "nats": {section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL)},
	} {
		t.Run("cluster/wire/"+name, func(t *testing.T) {
			c := start(t, 2, o)
			a, b := c.replicas[0], c.replicas[1]
			again := func(r *replica, path string) {
				r.Signal(syscall.SIGTERM)
				r.Wait(30 * time.Second)
				r.path = path
				r.start()
			}
			refused := func(r *replica, why string) {
				t.Helper()
				if code := r.Wait(30 * time.Second); code == 0 || !strings.Contains(r.Stderr(), why) || !strings.Contains(r.Stderr(), "one number at a time") {
					t.Errorf("exit code %d", code)
				}
			}
			again(b, mcptest.BuildWire(t, 2))
			b.ready()
			a.sees("a ready, b ready")
			wants(t, at(client(t, a, `{}`), b).Post(call(1, "back__echo", "hello")).Answer(t), "hello")
			again(b, mcptest.BuildWire(t, 3))
			refused(b, "replica a at "+a.peer)
			a.sees(map[string]string{"members": "a ready,  unreachable", "nats": "a ready"}[name])
			wants(t, client(t, a, `{}`).Post(call(1, "back__echo", "on")).Answer(t), "on")
			a.Signal(syscall.SIGTERM)
			a.Wait(30 * time.Second)
			b.start() // alone it may run
			b.ready()
			a.path = ""
			a.start()
			refused(a, "replica b at "+b.peer)
		})
	}
}
