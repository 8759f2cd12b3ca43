package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	agreed "mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/mcptest"
)

// TestPermissions runs a cluster on a nats-server that allows only what the product
// says it needs.
func TestPermissions(t *testing.T) {
	besideOthers(t)
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"cluster":{"name":"test","node":"a","peer":"127.0.0.1:1","secret":%q,"engine":"nats","nats":{"urls":["nats://127.0.0.1:1"]}},"mcpServers":{}}`,
		strings.ReplaceAll(secret, " ", "-")), 0o600); err != nil {
		t.Fatal(err)
	}
	said := (&replica{t: t, config: file, home: t.TempDir()}).must("cluster", "export", "--nats-permissions")
	// Connections without a login are those of the user gateway.
	server := mcptest.StartNATSWith(t, "authorization { users: [ { user: gateway, password: unused\n"+said+"} ] }\nno_auth_user: gateway\n")
	section := fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL)
	c, _ := placedWith(t, "", options{
		section: section, access: `"access":{"enabled":true,"keys":"keys.json"},`,
		between: func(i int, peer string) (string, string) { // the last one has no port
			if i == 2 {
				return "", `,"config":"file"`
			}
			return peer, ""
		},
		alter: func(i int, r *replica, text string) string {
			if i == 2 {
				text = strings.Replace(text, fmt.Sprintf(`"peer":%q,"advertise":""`, r.peer), `"peer":"nats"`, 1)
			}
			return text
		},
	})
	t.Run("cluster/permissions/enough", func(t *testing.T) {
		for _, r := range c.replicas {
			r.sees("a ready, b ready, c ready")
		}
		key := strings.TrimSpace(c.replicas[0].must("key", "create", "laptop"))
		for _, r := range c.replicas {
			enters(t, r, key)
			s := holder(t, r, key)
			s.Initialize(legacy, `{}`)
			wants(t, s.Post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"once__echo","arguments":{"message":"hello"}}}`).Answer(t), "hello")
		}
		c.replicas[1].must("key", "revoke", "laptop")
		has, others := c.owner(t, c.replicas...)
		has.must("cluster", "drain", has.name)
		c.owner(t, others...)
		for _, r := range c.replicas {
			if s, _ := r.status(); s.Engine.State != agreed.EngineReached {
				t.Errorf("%s: %+v", r.name, s.Engine)
			}
		}
		for line := range strings.Lines(server.Stderr()) {
			if strings.Contains(line, "Violation") {
				t.Error(line)
			}
		}
	})
	t.Run("cluster/permissions/no more", func(t *testing.T) {
		refused := make(chan error, 10)
		conn, err := nats.Connect(server.URL, nats.CustomInboxPrefix("aio.test._inbox"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		expect := func(what string) {
			t.Helper()
			select {
			case err := <-refused:
				if !errors.Is(err, nats.ErrPermissionViolation) {
					t.Errorf("%s: %v", what, err)
				}
			case <-time.After(10 * time.Second):
				t.Errorf("%s was allowed", what)
			}
		}
		for _, subject := range []string{"orders.new", "aio.other.hello", "$KV.aio_other_live.member.a", "$KV.orders.x", "$JS.API.STREAM.DELETE.KV_aio_test_live", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.CREATE.orders"} {
			if err := conn.Publish(subject, nil); err != nil {
				t.Fatal(err)
			}
			expect("publishing to " + subject)
		}
		for _, subject := range []string{">", "orders.>", "aio.other.>", "$KV.>", "_INBOX.>"} {
			if _, err := conn.Subscribe(subject, func(*nats.Msg) {}); err != nil {
				t.Fatal(err)
			}
			expect("subscribing to " + subject)
		}
	})
}
