package cluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
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
	t.Run("cluster/flags/peer in use", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		home := t.TempDir()
		r := &replica{t: t, config: filepath.Join(home, "mcp.json"), home: home}
		if err := os.WriteFile(r.config, fmt.Appendf(nil, `{"cluster":{"secret":%q},"mcpServers":{}}`, strings.ReplaceAll(secret, " ", "-")), 0o600); err != nil {
			t.Fatal(err)
		}
		_, why, code := r.run("http", "--port", "0", "--node", "a", "--peer", ln.Addr().String())
		if code != 1 || !strings.Contains(why, "AIO4001") || !strings.Contains(why, ln.Addr().String()+" of cluster.peer") || strings.Contains(why, "--port") {
			t.Errorf("exit code %d: %s", code, why)
		}
	})
	t.Run("cluster/flags/refused", func(t *testing.T) {
		r := &replica{t: t, config: "none.json", home: t.TempDir()}
		for want, args := range map[string][]string{"--engine etcd": {"--engine", "etcd"}, "--node needs a value": {"--node", ""}, "--peer needs a value": {"--peer="}, "--join opens no port": {"--join", "nats://h", "--peer", ":3096"}} {
			if _, why, code := r.run(append([]string{"http"}, args...)...); code != 2 || !strings.Contains(why, want) {
				t.Errorf("%v: exit code %d: %s", args, code, why)
			}
		}
	})
}
