package cluster

import (
	"strings"
	"testing"
)

// TestTwoAddresses checks that a replica that is reached at two addresses is one.
// Linux answers at all addresses of 127.0.0.0/8.
func TestTwoAddresses(t *testing.T) {
	c := start(t, 2, options{access: `"access":{"keys":"keys.json"},`, members: true,
		alter: func(_ int, r *replica, text string) string {
			text = strings.Replace(text, `"peer":"127.0.0.1:`, `"peer":"0.0.0.0:`, 1)
			at := strings.Index(text, `"members":["`) + len(`"members":["`)
			list := text[at : at+strings.Index(text[at:], "]")]
			return text[:at] + strings.ReplaceAll(strings.TrimSuffix(list, `"`), "127.0.0.1", "127.0.0.2") + `","` + text[at:]
		}})
	a, b := c.replicas[0], c.replicas[1]
	t.Run("cluster/addresses/code", func(t *testing.T) {
		for i := range 8 {
			_, code, _ := strings.Cut(strings.TrimSpace(a.must("ui", "--print")), "#code=")
			if status := a.session(b.logsIn(code)); status != 200 {
				t.Fatalf("login %d: status %d", i, status)
			}
		}
	})
}
