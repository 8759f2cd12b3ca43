package cluster

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// TestFlags checks that flags of http name a replica, its port and its engine, so
// that all machines can have the same file.
func TestFlags(t *testing.T) {
	server := mcptest.StartNATS(t)
	t.Run("cluster/flags", func(t *testing.T) {
		c := start(t, 2, options{
			section: fmt.Sprintf(`,"nats":{"urls":[%q]}`, server.URL),
			alter: func(i int, r *replica, text string) string {
				r.args = []string{"--node", r.name, "--peer", r.peer, "--engine", "nats"}
				if i == 0 { // in the place of other values
					return strings.Replace(text, `"node":"a"`, `"node":"elsewhere"`, 1)
				}
				return regexp.MustCompile(`"node":"b","peer":"[^"]*",`).ReplaceAllString(text, "")
			},
		})
		for _, r := range c.replicas {
			r.sees("a ready, b ready")
			if s, _ := r.status(); s.Engine.Name != "nats" || s.Node != r.name {
				t.Errorf("%+v", s)
			}
		}
		s := client(t, c.replicas[0], `{}`)
		wants(t, at(s, c.replicas[1]).Post(call(1, "back__echo", "hello")).Answer(t), "hello")
	})
	t.Run("cluster/flags/refused", func(t *testing.T) {
		r := &replica{t: t, config: "none.json", home: t.TempDir()}
		for want, args := range map[string][]string{"--engine etcd": {"--engine", "etcd"}, "--join opens no port": {"--join", "nats://h", "--peer", ":3096"}} {
			if _, why, code := r.run(append([]string{"http"}, args...)...); code != 2 || !strings.Contains(why, want) {
				t.Errorf("%v: exit code %d: %s", args, code, why)
			}
		}
	})
}
