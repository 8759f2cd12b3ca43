package cluster

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

func decode(t *testing.T, raw []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
}

// TestForged checks that an id that is not a session of this client at this
// endpoint gets the same response, byte for byte, as one that never existed.
func TestForged(t *testing.T) {
	c := start(t, 2, options{})
	other := start(t, 1, options{secret: strings.Repeat("another", 6)})
	a, b := c.replicas[0], c.replicas[1]
	good := client(t, a, `{}`)
	id := good.Header.Get("Mcp-Session-Id")
	foreign := client(t, other.replicas[0], `{}`).Header.Get("Mcp-Session-Id")
	unknown := func(r *replica) string {
		s := mcptest.NewRawHTTP(t, r.url())
		s.Header.Set("Mcp-Session-Id", "0123456789abcdef0123456789abcdef")
		reply := s.Post(call(1, "back__echo", "x"))
		if reply.Status != http.StatusNotFound || !strings.Contains(reply.Body, `"code":-32600`) || !strings.Contains(reply.Body, "session not found") {
			t.Fatalf("an unknown session: %d %s", reply.Status, reply.Body)
		}
		return reply.Body
	}
	flip := func(at int) string {
		c := byte('A')
		if id[at] == c {
			c = 'B'
		}
		return id[:at] + string(c) + id[at+1:]
	}
	for name, forged := range map[string]string{
		"cut": id[:len(id)-1], "half": id[:len(id)/2], "prefix": "aio2.", "nothing": "aio2." + strings.Repeat("A", 300),
		"first": flip(5), "nonce": flip(15), "middle": flip(len(id) / 2), "last": flip(len(id) - 2), "longer": id + "AAAA",
		"another cluster": foreign, "no prefix": strings.TrimPrefix(id, "aio2."), "twice": id + ", " + id,
	} {
		t.Run("fault/T51/"+name, func(t *testing.T) {
			for _, r := range c.replicas {
				s := mcptest.NewRawHTTP(t, r.url())
				s.Header.Set("Mcp-Session-Id", forged)
				if reply := s.Post(call(1, "back__echo", "x")); reply.Status != http.StatusNotFound || reply.Body != unknown(r) {
					t.Errorf("POST: %d %s", reply.Status, reply.Body)
				}
				for _, method := range []string{http.MethodGet, http.MethodDelete} {
					if reply := s.Do(method, ""); reply.Status != http.StatusNotFound {
						t.Errorf("%s: %d %s", method, reply.Status, reply.Body)
					}
				}
			}
		})
	}
	t.Run("fault/T51/another endpoint", func(t *testing.T) {
		s := mcptest.NewRawHTTP(t, "http://127.0.0.1:"+b.port+"/s/back/mcp")
		s.Header.Set("Mcp-Session-Id", id)
		if reply := s.Post(call(1, "echo", "x")); reply.Status != http.StatusNotFound {
			t.Errorf("%d %s", reply.Status, reply.Body)
		}
	})
	t.Run("fault/T51/headers", func(t *testing.T) {
		who := base64.RawStdEncoding.EncodeToString([]byte(`{"ID":"owner","admin":true}`))
		s := client(t, a, `{}`)
		for name, value := range map[string]string{"Aio-Principal": who, "Aio-Hop": "1", "Aio-Boot": "0000000000000000", "Aio-Not-Run": "boot", "Aio-Restore": "1", "Aio-Owner": "a b c"} {
			s.Header.Set(name, value)
		}
		for _, r := range c.replicas {
			reply := at(s, r).Post(call(1, "back__echo", "mine"))
			wants(t, reply.Answer(t), "mine")
			for name := range reply.Header {
				if strings.HasPrefix(name, "Aio-") {
					t.Errorf("the answer has %s: %s", name, reply.Header.Get(name))
				}
			}
			s.Header.Set("Mcp-Session-Id", id[:len(id)-1])
			if reply := at(s, r).Post(call(1, "back__echo", "x")); reply.Status != http.StatusNotFound {
				t.Errorf("a forged id with headers: %d %s", reply.Status, reply.Body)
			}
			s.Header.Set("Mcp-Session-Id", id)
		}
	})
	t.Run("fault/T51/handles", func(t *testing.T) {
		more := accepted(t, modernCall(t, a, "old__ask_name", ""))
		tampered := strings.Replace(more, "aio1.", "aio1.A", 1)
		theirs := accepted(t, modernCall(t, other.replicas[0], "old__ask_name", ""))
		for _, forged := range []string{tampered, theirs, strings.Replace(more, "aio1.", "aio2.", 1)} {
			if m := modernCall(t, b, "old__ask_name", forged); m.Error == nil || !strings.Contains(m.Error.Message, "requestState is not valid") {
				t.Errorf("a forged handle: %s", m.Raw)
			}
		}
		if m := modernCall(t, b, "demo__ask_name", more); m.Error == nil {
			t.Errorf("a handle for another call: %s", m.Raw)
		}
		wants(t, modernCall(t, b, "old__ask_name", more), "Ada")
		if m := modernCall(t, b, "old__ask_name", more); m.Error == nil {
			t.Errorf("a handle that was used: %s", m.Raw)
		}
	})
	t.Run("fault/T51/peer port", func(t *testing.T) {
		for _, scheme := range []string{"http", "https"} {
			s := mcptest.NewRawHTTP(t, scheme+"://"+a.peer+"/mcp")
			if reply, err := s.Try(t.Context(), http.MethodPost, call(1, "back__echo", "x")); err == nil && reply.Status < 400 {
				t.Errorf("%s: %d %s", scheme, reply.Status, reply.Body)
			}
		}
	})
}
