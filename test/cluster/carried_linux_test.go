package cluster

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"mcp-all-in-one/internal/cluster/natsengine"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

// joined starts three replicas that share one configuration. The third one has no
// peer port: its file has only the secret and a label, and it was started with
// --join and the websocket of NATS. The server "once" needs its label.
func joined(t *testing.T) (c *cluster, server *mcptest.NATS) {
	t.Helper()
	server, certificate := mcptest.StartSecureNATS(t)
	c, _ = placedWith(t, `,"on":{"where":"laptop"}`, options{
		section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]},"config":"shared"`, server.URL),
		alter: func(i int, r *replica, text string) string {
			if i != 2 {
				return text
			}
			r.args, r.env = []string{"--join", server.Websocket}, []string{"SSL_CERT_FILE=" + certificate}
			return fmt.Sprintf(`{"cluster":{"name":"test","node":%q,"secret":%q,"labels":{"where":"laptop"},"config":"shared","drainDelay":"0s"},"logging":{"level":"debug"},"mcpServers":{}}`,
				r.name, strings.ReplaceAll(secret, " ", "-"))
		},
	})
	for _, r := range c.replicas {
		r.sees("a ready, b ready, c ready")
	}
	for _, r := range c.replicas {
		awaitSays(t, r, "by "+r.name)
	}
	return c, server
}

// TestJoin checks that a replica that no other one can reach takes part in a cluster
// by its connection to NATS.
func TestJoin(t *testing.T) {
	besideOthers(t)
	c, server := joined(t)
	a, b, laptop := c.replicas[0], c.replicas[1], c.replicas[2]
	t.Run("cluster/join/no port", func(t *testing.T) {
		if conn, err := net.Dial("tcp", laptop.peer); err == nil {
			conn.Close()
			t.Error("it has a peer port")
		}
	})
	t.Run("cluster/join/status", func(t *testing.T) {
		s, code := a.status()
		if code != 0 || s.Members[0].Carried || !s.Members[2].Carried || len(s.Placed) != 1 || s.Placed[0].Node != "c" {
			t.Errorf("exit code %d, %+v", code, s)
		}
		for _, args := range [][]string{{"cluster", "status"}, {"cluster", "members"}, {"doctor"}} {
			for _, r := range []*replica{a, laptop} {
				want := map[*replica]int{a: 1, laptop: 2}[r] // it reaches both others that way
				if args[0] == "cluster" && r == laptop {
					want = 3
				}
				out, why, code := r.run(args...)
				if got := strings.Count(out, "through NATS"); code != 0 || got != want || strings.Contains(out, ".invalid") {
					t.Errorf("%s at %s: exit code %d, %d times through NATS\n%s\n%s", args, r.name, code, got, out, why)
				}
				if out, _, _ := r.runIn("zh", args...); strings.Count(out, "经由 NATS") != want {
					t.Errorf("%s", out)
				}
			}
		}
	})
	t.Run("cluster/join/server", func(t *testing.T) {
		for _, size := range []int{10, 1 << 20, 3 << 20} {
			for _, r := range c.replicas {
				text := r.name + strings.Repeat("x", size)
				wants(t, says(t, r, text), text)
			}
		}
		s := client(t, b, `{}`)
		running := s.Stream(http.MethodPost, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"once__long_task","arguments":{"seconds":0.2,"steps":2},"_meta":{"progressToken":"p"}}}`)
		running.Message(t, "progress", func(m *mcptest.Message) bool { return m.Method == "notifications/progress" })
		running.Message(t, "the answer", func(m *mcptest.Message) bool { return m.Method == "" && m.Error == nil })
		more := accepted(t, modernCall(t, a, "once__ask_name", ""))
		wants(t, modernCall(t, b, "once__ask_name", more), "Ada")
	})
	for _, pair := range [][2]*replica{{laptop, a}, {a, laptop}} {
		home, other := pair[0], pair[1]
		t.Run("cluster/join/session of "+home.name, func(t *testing.T) {
			s := client(t, home, `{}`)
			wants(t, at(s, other).Post(call(1, "back__echo", "small")).Answer(t), "small")
			line := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"back__large","arguments":{"token":"large","size":%d}}}`, 1<<20)
			wants(t, s.Post(line).Answer(t), strings.Repeat("x", 1<<20))
			running := s.Stream(http.MethodPost, call(7, "back__wait", "cancelled"))
			running.Message(t, "progress", func(m *mcptest.Message) bool { return m.Method == "notifications/progress" })
			<-c.back.started
			s.Post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
			select {
			case <-c.back.ended:
			case <-time.After(30 * time.Second):
				t.Error("the server was not told")
			}
			running.Close()
			events := s.Stream(http.MethodGet, "")
			if reply := at(s, home).Do(http.MethodDelete, ""); reply.Status != http.StatusNoContent {
				t.Errorf("DELETE: %d %s", reply.Status, reply.Body)
			}
			for events.Next() != nil { // until the stream ends
			}
		})
	}
	t.Run("cluster/join/slow reader", func(t *testing.T) {
		s, small := client(t, laptop, `{}`), client(t, laptop, `{}`)
		quickest(t, at(small, a)) // so that its connections are open
		before := a.resident()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); slowly(ctx, t, s, a, 9, 32<<20) }()
		await(t, "the large answer is on its way", func() bool {
			c.back.mu.Lock()
			defer c.back.mu.Unlock()
			return c.back.ran["large-9"] > 0
		})
		for range 5 {
			quickest(t, small)
		}
		stop()
		<-done
		if grown := a.resident() - before; grown > 16<<10 {
			t.Errorf("an answer of 32 MiB that is not read takes %d KiB at the replica of its client", grown)
		}
	})
	t.Run("cluster/join/forged", func(t *testing.T) { forgedFrames(t, server, a, laptop) })
	t.Run("cluster/join/NATS restarted", func(t *testing.T) {
		direct := client(t, a, `{}`)
		server.Down()
		wants(t, at(direct, b).Post(call(1, "back__echo", "meanwhile")).Answer(t), "meanwhile")
		server.Restart()
		for _, r := range c.replicas {
			awaitSays(t, r, "again, by "+r.name)
		}
	})
	t.Run("cluster/join/stopped", func(t *testing.T) {
		s := client(t, laptop, `{}`)
		laptop.Signal(syscall.SIGTERM)
		laptop.Wait(30 * time.Second)
		left := time.Now()
		await(t, "the others know that it has left", func() bool { return b.of(laptop.name).Node == "" })
		if took := time.Since(left); took > 12*time.Second {
			t.Errorf("a replica that stops is listed for %v, as if it had been killed", took)
		}
		wants(t, at(s, b).Post(call(1, "back__echo", "moved")).Answer(t), "moved")
		laptop.start()
		laptop.ready()
		for _, r := range c.replicas {
			awaitSays(t, r, "started, by "+r.name)
		}
	})
	t.Run("cluster/join/killed", func(t *testing.T) { killCarried(t, c) })
}

// forgedFrames does what a program can do that reaches NATS and has no secret.
func forgedFrames(t *testing.T, server *mcptest.NATS, a, laptop *replica) {
	thief, err := natsengine.OpenCarrier(natsengine.Options{Cluster: "test", Node: "thief", URLs: []string{server.URL}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer thief.Close()
	dial := func(r *replica) net.Conn {
		t.Helper()
		conn, err := thief.Dial(t.Context(), r.name)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(30 * time.Second))
		return conn
	}
	for _, r := range []*replica{a, laptop} {
		plain := dial(r)
		io.WriteString(plain, "GET /peer/v1/member HTTP/1.1\r\nHost: x\r\nAio-Hop: 1\r\n\r\n")
		if text, _ := io.ReadAll(plain); strings.Contains(string(text), "HTTP/1.1 200") {
			t.Errorf("a request without TLS was answered: %s", text)
		}
		plain.Close()
		sealed := tls.Client(dial(r), &tls.Config{InsecureSkipVerify: true})
		io.WriteString(sealed, "GET /peer/v1/member HTTP/1.1\r\nHost: x\r\nAio-Hop: 1\r\n\r\n") // it fails, or the answer does
		if text, err := io.ReadAll(sealed); err == nil || len(text) > 0 {
			t.Errorf("a request without a certificate was answered: %s, %v", text, err)
		}
		sealed.Close()
	}
	before := a.resident() + laptop.resident()
	raw, err := nats.Connect(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Subscribe("aio.test.carry.end.*", func(m *nats.Msg) { // whatever is accepted gets more than a handshake
		raw.PublishRequest(m.Reply, m.Subject, append([]byte{'d', 0, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 700<<10)...))
	}); err != nil {
		t.Fatal(err)
	}
	for range figures.Size(5_000, 50_000) {
		for _, r := range []*replica{a, laptop} {
			frame := append([]byte{'o'}, make([]byte, 8)...)
			if err := raw.PublishRequest("aio.test.carry.to."+r.name, "aio.test.carry.end."+rand.Text(), frame); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := raw.FlushTimeout(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	raw.Close()
	grown := a.resident() + laptop.resident() - before
	if grown > 200<<10 {
		t.Errorf("both replicas took %d KiB more", grown)
	}
	awaitSays(t, a, "after the flood")
	figures.Report(t, "T51", "connections through NATS without the secret: refused; %d opened at once: both replicas took %d MiB more", 2*figures.Size(5_000, 50_000), grown>>10)
}

// killCarried kills the replica without a port while calls run there.
func killCarried(t *testing.T, c *cluster) {
	a, b, laptop := c.replicas[0], c.replicas[1], c.replicas[2]
	var idle []*mcptest.RawHTTP // some would begin again at a, and some at b
	for range 8 {
		idle = append(idle, client(t, laptop, `{}`))
	}
	s := client(t, laptop, `{}`)
	running := at(s, a).Stream(http.MethodPost, call(3, "back__wait", "lost"))
	<-c.back.started
	placed := client(t, b, `{}`).Stream(http.MethodPost, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"once__long_task","arguments":{"seconds":600,"steps":600},"_meta":{"progressToken":"p"}}}`)
	placed.Message(t, "progress", func(m *mcptest.Message) bool { return m.Method == "notifications/progress" })
	began := time.Now()
	laptop.kill()
	isLost(t, running.Message(t, "the end", func(m *mcptest.Message) bool { return m.Method == "" }))
	took := time.Since(began)
	if took > 10*time.Second {
		t.Errorf("a lost call was answered after %v", took)
	}
	if m := placed.Message(t, "the end", func(m *mcptest.Message) bool { return m.Method == "" }); m.Error == nil || !strings.Contains(string(m.Error.Data), `"retryable":false`) {
		t.Errorf("a call to a server that was lost: %s", m.Raw)
	}
	began = time.Now()
	for _, s := range idle {
		wants(t, at(s, a).Post(call(5, "back__echo", "moved")).Answer(t), "moved")
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("its sessions began elsewhere after %v", took)
	}
	figures.Report(t, "T47", "a replica without a port killed: calls there answered after %v, its sessions elsewhere after %v", took.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	laptop.start()
	laptop.ready()
	for _, r := range c.replicas {
		awaitSays(t, r, "back, by "+r.name)
	}
}

// TestJoinNone checks that replicas with ports have no second connection to NATS
// until one without a port joins.
func TestJoinNone(t *testing.T) {
	besideOthers(t)
	server := mcptest.StartNATS(t)
	c := start(t, 2, options{section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL)})
	c.replicas[0].sees("a ready, b ready")
	if n := connections(t, strings.TrimPrefix(server.URL, "nats://")); n != 2 {
		t.Errorf("two replicas have %d connections to NATS", n)
	}
}
