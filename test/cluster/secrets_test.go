package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// TestSecretsShown checks that the status shows which replica has which secret,
// while they are being changed, and that the console names a replica whose
// configuration differs.
func TestSecretsShown(t *testing.T) {
	c := start(t, 2, options{members: true, alter: func(i int, r *replica, text string) string {
		if r.name == "b" {
			old := strings.ReplaceAll(secret, " ", "-")
			text = strings.Replace(text, old, old+`\n`+strings.Repeat("new", 12), 1)
			text = strings.Replace(text, `"mcpServers":{`, `"mcpServers":{"more":{"type":"http","url":"http://127.0.0.1:9/mcp","disabled":true},`, 1)
		}
		return text
	}})
	a, b := c.replicas[0], c.replicas[1]
	t.Run("cluster/status/secrets", func(t *testing.T) {
		s, _ := a.status()
		if len(s.Members) != 2 || len(s.Members[0].Secrets) != 1 || len(s.Members[1].Secrets) != 2 || s.Members[1].Secrets[0] != s.Members[0].Secrets[0] {
			t.Fatalf("%+v", s.Members)
		}
		for _, r := range []*replica{a, b} {
			if out := r.must("cluster", "status"); !strings.Contains(out, "\t"+strings.Join(s.Members[1].Secrets, " ")+"\n") {
				t.Errorf("%s", out)
			}
		}
	})
	t.Run("cluster/console/differs", func(t *testing.T) {
		var p struct {
			Replicas []struct {
				Name    string
				Differs bool
			}
		}
		_, code, _ := strings.Cut(strings.TrimSpace(a.must("ui", "--print")), "#code=")
		if _, text := a.browses(a.logsIn(code), http.MethodGet, "overview?replica=*", ""); json.Unmarshal([]byte(text), &p) != nil {
			t.Fatal(text)
		}
		if i := slices.IndexFunc(p.Replicas, func(r struct {
			Name    string
			Differs bool
		}) bool {
			return r.Differs
		}); i < 0 || p.Replicas[i].Name != "b" || len(p.Replicas) != 2 {
			t.Errorf("%+v", p.Replicas)
		}
	})
}

// TestSecretDiffers checks that replicas with different secrets, which do not see
// each other in the engine, say so.
func TestSecretDiffers(t *testing.T) {
	besideOthers(t)
	server := mcptest.StartNATS(t)
	c := start(t, 2, options{section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL), alter: func(i int, r *replica, text string) string {
		if r.name == "b" {
			text = strings.Replace(text, strings.ReplaceAll(secret, " ", "-"), strings.Repeat("another", 6), 1)
		}
		return text
	}})
	t.Run("cluster/secret/differs", func(t *testing.T) {
		for _, r := range c.replicas {
			await(t, r.name+" sees a record that it cannot open", func() bool { s, code := r.status(); return s.Engine.Unopened == 1 && code == 4 })
			if _, why, _ := r.run("cluster", "status"); !strings.Contains(why, "1 replica in the engine has another secret") {
				t.Errorf("status of %s: %s", r.name, why)
			}
			if out, why, code := r.run("doctor"); code != 4 || !strings.Contains(out, "give all replicas the same cluster.secret") {
				t.Errorf("exit code %d of %s: %s\n%s", code, r.name, why, out)
			}
		}
	})
}
