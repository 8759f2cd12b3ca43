package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
)

// restored counts the sessions that a replica took over.
func (r *replica) restored() int { return strings.Count(r.Stderr(), `msg="session restored"`) }

// TestRestore checks that an idle session outlives its replica: the next
// request works at the other replicas, and they all restore the same session.
func TestRestore(t *testing.T) {
	c := start(t, 3, options{members: true})
	a, b, third := c.replicas[0], c.replicas[1], c.replicas[2]
	s, crowd := client(t, a, `{"elicitation":{}}`), client(t, a, `{}`)
	long := mcptest.NewRawHTTP(t, a.url())
	reply := long.Post(strings.Replace(mcptest.InitializeLine(legacy, `{}`), `"raw"`, `"`+strings.Repeat("long ", 250)+`"`, 1))
	long.Header.Set("Mcp-Session-Id", reply.Header.Get("Mcp-Session-Id"))
	a.kill()
	t.Run("cluster/restore/works", func(t *testing.T) {
		for i := range 6 {
			wants(t, at(s, []*replica{b, third}[i%2]).Post(call(i, "back__echo", fmt.Sprint("after ", i))).Answer(t), fmt.Sprint("after ", i))
		}
		if n := b.restored() + third.restored(); n != 1 {
			t.Errorf("the session was restored %d times", n)
		}
	})
	t.Run("cluster/restore/all at once", func(t *testing.T) {
		before := b.restored() + third.restored()
		var all sync.WaitGroup
		for i := range 20 {
			one := mcptest.NewRawHTTP(t, []*replica{b, third}[i%2].url())
			one.Header = crowd.Header.Clone()
			all.Go(func() {
				wants(t, one.Post(call(i, "back__echo", fmt.Sprint("crowd ", i))).Answer(t), fmt.Sprint("crowd ", i))
			})
		}
		all.Wait()
		if n := b.restored() + third.restored() - before; n != 1 {
			t.Errorf("the session was restored %d times", n)
		}
	})
	t.Run("cluster/restore/lists changed", func(t *testing.T) {
		events := at(s, b).Stream(http.MethodGet, "")
		for _, list := range []string{"tools", "prompts", "resources"} {
			events.Message(t, "news of "+list, func(m *mcptest.Message) bool { return m.Method == "notifications/"+list+"/list_changed" })
		}
	})
	t.Run("cluster/restore/questions", func(t *testing.T) {
		running := at(s, b).Stream(http.MethodPost, call(1, "back__ask", "hello"))
		asked := running.Message(t, "the question", func(m *mcptest.Message) bool { return m.Method == "elicitation/create" })
		at(s, third).Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ada"}}}`, asked.ID))
		wants(t, running.Message(t, "the answer", func(m *mcptest.Message) bool { return m.Method == "" }), "hello Ada")
	})
	t.Run("cluster/restore/too much said", func(t *testing.T) {
		if reply := at(long, b).Post(call(1, "back__echo", "x")); reply.Status != http.StatusNotFound || !strings.Contains(reply.Body, "session not found") {
			t.Errorf("%d %s", reply.Status, reply.Body)
		}
	})
	a.start()
	a.ready()
	t.Run("cluster/restore/started anew", func(t *testing.T) {
		before := b.restored() + third.restored()
		for i := range 3 {
			wants(t, at(s, c.replicas[i]).Post(call(i, "back__echo", fmt.Sprint("anew ", i))).Answer(t), fmt.Sprint("anew ", i))
		}
		if a.restored() != 0 || b.restored()+third.restored() != before {
			t.Error("the session moved on, away from where it is")
		}
	})
	t.Run("cluster/restore/forged", func(t *testing.T) {
		forged := mcptest.NewRawHTTP(t, a.url())
		id := s.Header.Get("Mcp-Session-Id")
		forged.Header.Set("Mcp-Session-Id", id[:len(id)-2]+"AA")
		if reply := forged.Post(call(1, "back__echo", "x")); reply.Status != http.StatusNotFound {
			t.Errorf("%d %s", reply.Status, reply.Body)
		}
	})
}

// TestBound checks that a session with its own process ends with its replica.
// Without members, the replica that notices the loss takes over the other
// sessions.
func TestBound(t *testing.T) {
	for name, own := range map[string]bool{"bound": true, "alone": false} {
		t.Run("cluster/restore/"+name, func(t *testing.T) {
			o := options{}
			if own {
				o.servers = fmt.Sprintf(`,"own":{"command":%q,"share":"session"}`, mcptest.Build(t))
			}
			c := start(t, 2, o)
			s := client(t, c.replicas[0], `{}`)
			c.replicas[0].kill()
			reply := at(s, c.replicas[1]).Post(call(1, "back__echo", "x"))
			if want := map[bool]int{true: http.StatusNotFound, false: http.StatusOK}[own]; reply.Status != want {
				t.Errorf("%d %s", reply.Status, reply.Body)
			}
		})
	}
}

// TestBoundLater checks that a session which got its own process after its handshake
// ends with its replica.
func TestBoundLater(t *testing.T) {
	c := start(t, 2, options{members: true, servers: fmt.Sprintf(`,"own":{"command":%q,"args":["-era","legacy"]}`, mcptest.Build(t)), access: withMetrics})
	a, b := c.replicas[0], c.replicas[1]
	s, other := client(t, a, `{"elicitation":{}}`), client(t, a, `{"elicitation":{}}`)
	tool := func(name, arguments string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
	}
	running := at(other, a).Stream(http.MethodPost, tool("own__ask_name", `{}`))
	asked := running.Message(t, "the first question", func(m *mcptest.Message) bool { return m.Method == "elicitation/create" })
	at(other, a).Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ada"}}}`, asked.ID))
	wants(t, running.Message(t, "the answer", func(m *mcptest.Message) bool { return m.Method == "" }), "Hello, Ada!")
	wants(t, at(s, a).Post(tool("own__echo", `{"message":"state"}`)).Answer(t), "state")
	await(t, "replica b knows that the session is bound", func() bool { return b.metric("mcp_gateway_cluster_final") == "1" })
	a.kill()
	t.Run("cluster/restore/bound later", func(t *testing.T) {
		if reply := at(s, b).Post(tool("own__echo", `{"message":"x"}`)); reply.Status != http.StatusNotFound || !strings.Contains(reply.Body, "session not found") {
			t.Errorf("%d %s", reply.Status, reply.Body)
		}
	})
	t.Run("cluster/restore/shares", func(t *testing.T) {
		wants(t, at(other, b).Post(call(1, "back__echo", "x")).Answer(t), "x")
	})
}

// TestEnded checks that a session that its client has ended does not begin again when
// its replica dies, nor when all that were told have been started again in turn.
func TestEnded(t *testing.T) {
	c := start(t, 3, options{members: true, access: withMetrics})
	a, b, third := c.replicas[0], c.replicas[1], c.replicas[2]
	deleted, shut, moved := client(t, a, `{}`), client(t, a, `{}`), client(t, a, `{}`)
	end := func(s *mcptest.RawHTTP, r *replica) {
		t.Helper()
		if reply := at(s, r).Do(http.MethodDelete, ""); reply.Status != http.StatusNoContent {
			t.Errorf("DELETE: %d %s", reply.Status, reply.Body)
		}
	}
	isOver := func(s *mcptest.RawHTTP, at ...*replica) {
		t.Helper()
		for _, r := range at {
			s.URL = r.url()
			if reply := s.Post(call(1, "back__echo", "x")); reply.Status != http.StatusNotFound || !strings.Contains(reply.Body, "session not found") {
				t.Errorf("at %s: %d %s", r.name, reply.Status, reply.Body)
			}
		}
	}
	heard := func(r *replica, n string) {
		t.Helper()
		await(t, "replica "+r.name+" knows what has ended", func() bool { return r.metric("mcp_gateway_cluster_final") == n })
	}
	end(deleted, b)
	if m := shut.Post(`{"jsonrpc":"2.0","id":1,"method":"shutdown"}`).Answer(t); m.Error != nil {
		t.Errorf("shutdown: %s", m.Raw)
	}
	heard(b, "2")
	heard(third, "2")
	isOver(deleted, a, b)
	a.kill()
	t.Run("cluster/restore/ended", func(t *testing.T) {
		isOver(deleted, b, third)
		isOver(shut, b, third)
	})
	t.Run("cluster/restore/ended after it moved", func(t *testing.T) {
		wants(t, at(moved, b).Post(call(1, "back__echo", "x")).Answer(t), "x")
		end(moved, third)
		isOver(moved, b, third)
	})
	t.Run("cluster/restore/ended, started anew", func(t *testing.T) {
		heard(b, "3")
		heard(third, "3")
		for _, r := range []*replica{a, b, third} {
			if r != a {
				r.kill()
			}
			r.start()
			r.ready()
			heard(r, "3")
		}
		isOver(deleted, a, b, third)
		isOver(moved, a, b, third)
	})
}

// TestSubscribed checks that the subscriptions of a session outlive its replica,
// also if the only replica that heard of them was started again.
func TestSubscribed(t *testing.T) {
	memos := mcpserver.New("memos")
	var list []mcpserver.Resource
	for _, name := range []string{"kept", "left"} {
		list = append(list, mcpserver.Resource{
			Definition: fmt.Sprintf(`{"uri":"memo://%s","name":%[1]q}`, name),
			Read:       func(context.Context, *mcpserver.Call, string) (any, error) { return mcpserver.Text("memo"), nil },
		})
	}
	memos.SetResources(list...)
	handler, stop := memos.HTTP("")
	front := httptest.NewServer(handler)
	t.Cleanup(func() { front.Close(); stop() })
	c := start(t, 2, options{members: true, servers: fmt.Sprintf(`,"memos":{"type":"http","url":%q}`, front.URL+"/mcp"), access: withMetrics})
	a, b := c.replicas[0], c.replicas[1]
	s := client(t, a, `{}`)
	ask := func(r *replica, method, uri string) {
		t.Helper()
		if m := at(s, r).Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"uri":%q}}`, method, uri)).Answer(t); m.Error != nil {
			t.Fatalf("%s %s: %+v", method, uri, m.Error)
		}
	}
	ask(a, "resources/subscribe", "memo://left")
	ask(a, "resources/subscribe", "memo://kept")
	ask(a, "resources/unsubscribe", "memo://left")
	heard := func(r *replica) {
		t.Helper()
		await(t, "replica "+r.name+" knows the subscription", func() bool { return r.metric("mcp_gateway_cluster_subscribed") == "1" })
	}
	heard(b)
	b.kill()
	b.start()
	b.ready()
	heard(b) // from a, which has the session
	for _, step := range []struct {
		name      string
		dead, new *replica
	}{{"killed", a, b}, {"killed again", b, a}} {
		t.Run("cluster/restore/subscriptions "+step.name, func(t *testing.T) {
			step.dead.kill()
			events := at(s, step.new).Stream(http.MethodGet, "")
			about := func(what string) {
				t.Helper()
				m := events.Message(t, what, func(m *mcptest.Message) bool { return m.Method == "notifications/resources/updated" })
				if !strings.Contains(string(m.Params), "memo://kept") {
					t.Errorf("%s: %s", what, m.Params)
				}
			}
			about("what may have changed meanwhile")
			memos.Updated("memo://left")
			memos.Updated("memo://kept")
			about("what changed")
			step.dead.start()
			step.dead.ready()
			heard(step.dead)
		})
	}
}
