package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// TestSessions checks that a legacy session works at every replica.
func TestSessions(t *testing.T) {
	c := start(t, 3, options{})
	a, b, third := c.replicas[0], c.replicas[1], c.replicas[2]
	t.Run("cluster/session", func(t *testing.T) {
		s := client(t, a, `{}`)
		if id := s.Header.Get("Mcp-Session-Id"); !strings.HasPrefix(id, "aio2.") || len(id) > 700 {
			t.Errorf("session id %q", id)
		}
		for i, r := range []*replica{b, third, a, b} {
			wants(t, at(s, r).Post(call(i, "back__echo", fmt.Sprint("token ", i))).Answer(t), fmt.Sprint("token ", i))
		}
		large := strings.Repeat("large ", 200_000)
		wants(t, at(s, b).Post(call(9, "back__echo", large)).Answer(t), large)
	})
	t.Run("cluster/stream", func(t *testing.T) {
		s := client(t, a, `{"elicitation":{}}`)
		call := at(s, b).Stream(http.MethodPost, call(1, "back__ask", "hello"))
		asked := call.Message(t, "the question", func(m *mcptest.Message) bool { return m.Method == "elicitation/create" })
		if reply := at(s, third).Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ada"}}}`, asked.ID)); reply.Status != http.StatusAccepted {
			t.Errorf("answering: %d %s", reply.Status, reply.Body)
		}
		wants(t, call.Message(t, "the answer", func(m *mcptest.Message) bool { return m.Method == "" }), "hello Ada")
	})
	t.Run("cluster/progress and cancel", func(t *testing.T) {
		s := client(t, a, `{}`)
		running := at(s, b).Stream(http.MethodPost, call(7, "back__wait", "cancelled"))
		running.Message(t, "progress", func(m *mcptest.Message) bool { return m.Method == "notifications/progress" })
		<-c.back.started
		at(s, third).Post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		for e := running.Next(); e != nil; e = running.Next() {
			if strings.Contains(e.Data, `"result"`) {
				t.Errorf("a cancelled call was answered: %s", e.Data)
			}
		}
	})
	t.Run("cluster/get and delete", func(t *testing.T) {
		s := client(t, a, `{}`)
		events := at(s, b).Stream(http.MethodGet, "")
		if reply := at(s, third).Do(http.MethodDelete, ""); reply.Status != http.StatusNoContent {
			t.Errorf("DELETE: %d %s", reply.Status, reply.Body)
		}
		for events.Next() != nil {
		}
		for _, r := range c.replicas {
			if reply := at(s, r).Post(call(1, "back__echo", "ended")); reply.Status != http.StatusNotFound {
				t.Errorf("after DELETE: %d %s", reply.Status, reply.Body)
			}
		}
	})
	t.Run("cluster/sse", func(t *testing.T) {
		line := mcptest.NewRawHTTP(t, "http://127.0.0.1:"+a.port+"/sse")
		events := line.Stream(http.MethodGet, "")
		path := events.Next().Data
		post := mcptest.NewRawHTTP(t, "http://127.0.0.1:"+b.port+path)
		if reply := post.Post(mcptest.InitializeLine("2024-11-05", `{}`)); reply.Status != http.StatusAccepted {
			t.Errorf("posting: %d %s", reply.Status, reply.Body)
		}
		wants(t, events.Message(t, "the welcome", func(m *mcptest.Message) bool { return m.Method == "" }), "serverInfo")
	})
}

// modernCall makes a call of a modern client at a replica.
func modernCall(t *testing.T, r *replica, tool, more string) mcptest.Message {
	t.Helper()
	return modernAs(t, r, "", tool, more)
}

// modernAs is modernCall with a key.
func modernAs(t *testing.T, r *replica, key, tool, more string) mcptest.Message {
	t.Helper()
	c := mcptest.NewRawHTTP(t, r.url())
	if key != "" {
		c.Header.Set("Authorization", "Bearer "+key)
	}
	c.Header.Set("Mcp-Protocol-Version", modern)
	c.Header.Set("Mcp-Method", "tools/call")
	c.Header.Set("Mcp-Name", tool)
	return c.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":%q,"arguments":{"token":"hi"}%s,"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`,
		tool, more, modern)).Answer(t)
}

// accepted answers the only question of an input_required result.
func accepted(t *testing.T, m mcptest.Message) string {
	t.Helper()
	var asked struct {
		InputRequests map[string]any
		RequestState  string
	}
	decode(t, m.Result, &asked)
	if len(asked.InputRequests) != 1 || !strings.HasPrefix(asked.RequestState, "aio1.") {
		t.Fatalf("asked %s", m.Raw)
	}
	for key := range asked.InputRequests {
		return fmt.Sprintf(`,"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"name":"Ada"}}}`, asked.RequestState, key)
	}
	return ""
}

// TestHandles checks that a modern client can continue a call with a question
// at another replica: a call that waits for a legacy server, one whose state a
// server on stdio keeps, and one that any replica can continue.
func TestHandles(t *testing.T) {
	c := start(t, 3, options{})
	for _, tool := range []string{"old__ask_name", "demo__ask_name", "back__ask"} {
		t.Run("cluster/handle/"+tool, func(t *testing.T) {
			more := accepted(t, modernCall(t, c.replicas[0], tool, ""))
			wants(t, modernCall(t, c.replicas[1], tool, more), "Ada")
		})
	}
	more := map[string]string{}
	for _, tool := range []string{"old__ask_name", "demo__ask_name", "back__ask"} {
		more[tool] = accepted(t, modernCall(t, c.replicas[0], tool, ""))
	}
	c.replicas[0].kill()
	t.Run("cluster/handle/owner died", func(t *testing.T) {
		for _, tool := range []string{"old__ask_name", "demo__ask_name"} {
			isLost(t, modernCall(t, c.replicas[1], tool, more[tool]))
		}
		wants(t, modernCall(t, c.replicas[2], "back__ask", more["back__ask"]), "Ada")
	})
}

// isLost fails unless the response reports the loss of its replica.
func isLost(t *testing.T, m mcptest.Message) {
	t.Helper()
	if m.Error == nil || m.Error.Code != -32603 || string(m.Error.Data) != `{"reason":"owner_lost","retryable":false}` {
		t.Errorf("answered %.300s, want owner_lost", m.Raw)
	}
}

// TestOwnerLost checks that if the replica of a call dies, the replica that
// forwarded the call answers it.
func TestOwnerLost(t *testing.T) {
	c := start(t, 2, options{})
	a, b := c.replicas[0], c.replicas[1]
	plain, streamed := client(t, a, `{}`), client(t, a, `{}`)
	at(plain, b).Header.Set("Accept", "application/json")
	events := at(streamed, b).Stream(http.MethodPost, call(3, "back__wait", "streamed"))
	<-c.back.started
	answer := make(chan *mcptest.Reply, 1)
	go func() {
		reply, err := plain.Try(t.Context(), http.MethodPost, call(4, "back__wait", "plain"))
		if err != nil {
			t.Error(err)
		}
		answer <- reply
	}()
	<-c.back.started
	a.kill()
	t.Run("cluster/owner lost/json", func(t *testing.T) {
		reply := <-answer
		if reply.Status != http.StatusOK || string(reply.Answer(t).ID) != "4" {
			t.Errorf("answered %d %s", reply.Status, reply.Body)
		}
		isLost(t, reply.Answer(t))
	})
	t.Run("cluster/owner lost/stream", func(t *testing.T) {
		m := events.Message(t, "the answer", func(m *mcptest.Message) bool { return m.Method == "" })
		isLost(t, m)
		if string(m.ID) != "3" || events.Next() != nil {
			t.Errorf("answered %s, and more", m.Raw)
		}
	})
}
