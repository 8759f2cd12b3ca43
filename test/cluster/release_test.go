package cluster

import (
	"os"
	"testing"
)

// TestReleases restarts replicas of two releases side by side, from the older
// one to this one and back: no call fails and no session ends. RELEASE names the
// binary of the older one; without it both are this one, which shows only that
// the program may be another file.
func TestReleases(t *testing.T) {
	t.Run("fault/T53", func(t *testing.T) {
		older := os.Getenv("RELEASE")
		c := start(t, 3, options{members: true, section: `,"drainDelay":"5s"`, access: behindBalancer, path: older})
		base := balance(t, c)
		for _, path := range []string{"", older} {
			for _, r := range c.replicas {
				r.path = path
			}
			rolling(t, c, base, size(1, 5), 12, size(10, 100), 0)
		}
	})
}
