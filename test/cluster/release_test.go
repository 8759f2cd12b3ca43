package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"mcp-all-in-one/test/balancers"
	"mcp-all-in-one/test/figures"
)

// TestReleases restarts replicas of two releases side by side, from the older
// one to this one and back: no call fails and no session ends. RELEASE is the
// binary of the older release. Without it both are this release, which only
// shows that the program may be another file.
func TestReleases(t *testing.T) {
	t.Run("fault/T53", func(t *testing.T) {
		older, name := os.Getenv("RELEASE"), "the same"
		if older != "" {
			name = filepath.Base(older)
		}
		c := start(t, 3, options{members: true, section: `,"drainDelay":"5s"`, access: behindBalancer, path: older})
		b := balancers.HAProxy(t)
		base := b.Start(t, c.ports())
		for i, path := range []string{"", older} {
			way := []string{"from " + name + " to this program", "back"}[i]
			for _, r := range c.replicas {
				r.path = path
			}
			y := rolling(t, c, base, plain, figures.Size(1, 5), 12, figures.Size(10, 100))
			figures.Report(t, "T53", "%d restarts %s behind %s, 12 clients, %d idle sessions: %v", figures.Size(3, 15), way, b.Name, figures.Size(10, 100), y)
		}
	})
}
