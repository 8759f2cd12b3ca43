package cluster

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestTwoAddresses checks that a replica that is reached at two addresses is one.
// Linux answers at all addresses of 127.0.0.0/8.
func TestTwoAddresses(t *testing.T) {
	c := start(t, 2, options{access: behindBalancer, members: true,
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
	t.Run("cluster/addresses/events", func(t *testing.T) {
		events := a.follows(t.Context(), "the-key-of-everyone-in-this-load", "clients,replicas")
		hears(t, events, "b", "hello")
		for i := range 2 { // more than a look for other replicas
			for _, r := range c.replicas {
				if m := holder(t, r, "the-key-of-everyone-in-this-load").Initialize(legacy, `{}`); m.Error != nil {
					t.Fatalf("%+v", m.Error)
				}
			}
			for late := time.After(time.Minute); ; {
				select {
				case e := <-events:
					var n struct{ Replica, Topic string }
					if e.name != "replicas" || json.Unmarshal([]byte(e.data), &n) != nil {
						continue
					}
					if n.Replica != "b" || n.Topic != "clients" {
						t.Fatalf("round %d: told of %s of %s", i, n.Topic, n.Replica)
					}
				case <-late:
					t.Fatal("nothing was told")
				}
				break
			}
		}
	})
}
