package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	agreed "mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
)

// must runs a command that must succeed.
func (r *replica) must(args ...string) string {
	r.t.Helper()
	out, why, code := r.run(args...)
	if code != 0 {
		r.t.Fatalf("%v: exit code %d\n%s%s", args, code, out, why)
	}
	return out
}

// holder returns a client with a key.
func holder(t testing.TB, r *replica, key string) *mcptest.RawHTTP {
	c := mcptest.NewRawHTTP(t, r.url())
	c.Header.Set("Authorization", "Bearer "+key)
	return c
}

// enters waits until a replica accepts a key.
func enters(t testing.TB, r *replica, key string) {
	t.Helper()
	c := holder(t, r, key)
	await(t, "the key opens replica "+r.name, func() bool {
		return c.Post(mcptest.InitializeLine(legacy, `{}`)).Status == http.StatusOK
	})
}

// soon is how long a change may take to reach the other replicas.
const soon = time.Second

// TestShared checks that a decision at one replica takes effect at the others.
func TestShared(t *testing.T) {
	server := mcptest.StartNATS(t)
	lib := newLibrary(t)
	c := start(t, 2, options{
		servers: fmt.Sprintf(`,"lib":{"type":"http","url":%q,"pin":"hold"}`, lib.url),
		section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL), access: `"access":{"enabled":true,"keys":"keys.json"},`,
	})
	a, b := c.replicas[0], c.replicas[1]
	t.Run("cluster/shared/keys", func(t *testing.T) { sharedKeys(t, a, b) })
	t.Run("fault/T51/another key", func(t *testing.T) { anotherKey(t, a, b) })
	t.Run("cluster/shared/pins", func(t *testing.T) { sharedPins(t, lib, a, b) })
	t.Run("cluster/config/deployed", func(t *testing.T) { deployed(t, lib, a) })
	t.Run("cluster/shared/cut off", func(t *testing.T) { cutOff(t, server, a, b) })
}

func sharedKeys(t *testing.T, a, b *replica) {
	key := strings.TrimSpace(a.must("key", "create", "laptop"))
	enters(t, b, key)
	if s, _ := b.status(); s.Engine.Shared == 0 {
		t.Error("the status shows nothing shared")
	}
	if list := b.must("key", "ls"); !strings.Contains(list, "laptop") {
		t.Errorf("b lists %s", list)
	}
	s := holder(t, b, key)
	if m := s.Initialize(legacy, `{}`); m.Error != nil {
		t.Fatalf("%+v", m.Error)
	}
	stream := s.Stream(http.MethodGet, "")
	ended := make(chan time.Time, 1)
	go func() {
		for stream.Next() != nil {
		}
		ended <- time.Now()
	}()
	a.must("key", "revoke", "laptop")
	revoked := time.Now()
	took := (<-ended).Sub(revoked)
	t.Logf("the stream ended %v after the revocation", took)
	if took > soon {
		t.Errorf("the stream ended after %v", took)
	}
	if reply := s.Post(call(1, "back__echo", "late")); reply.Status != http.StatusUnauthorized {
		t.Errorf("status %d: %.200s", reply.Status, reply.Body)
	}
}

// anotherKey checks that a session and a waiting call of one key are unknown to
// another, at every replica, and also after their replica was lost.
func anotherKey(t *testing.T, a, b *replica) {
	mine := strings.TrimSpace(a.must("key", "create", "mine", "--scope", "admin"))
	theirs := strings.TrimSpace(a.must("key", "create", "theirs", "--scope", "admin"))
	for _, r := range []*replica{a, b} {
		enters(t, r, mine)
		enters(t, r, theirs)
	}
	s := holder(t, a, mine)
	if m := s.Initialize(legacy, `{}`); m.Error != nil {
		t.Fatalf("%+v", m.Error)
	}
	unknown := func(r *replica) {
		t.Helper()
		thief := holder(t, r, theirs)
		thief.Header.Set("Mcp-Session-Id", "0123456789abcdef0123456789abcdef")
		want := thief.Post(call(1, "back__echo", "x"))
		thief.Header.Set("Mcp-Session-Id", s.Header.Get("Mcp-Session-Id"))
		if got := thief.Post(call(1, "back__echo", "x")); got.Status != http.StatusNotFound || got.Body != want.Body {
			t.Errorf("POST at %s: %d %s, want %s", r.name, got.Status, got.Body, want.Body)
		}
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			if got := thief.Do(method, ""); got.Status != http.StatusNotFound {
				t.Errorf("%s at %s: %d %s", method, r.name, got.Status, got.Body)
			}
		}
	}
	unknown(a)
	unknown(b)
	a.kill()
	unknown(b)
	wants(t, at(s, b).Post(call(2, "back__echo", "mine")).Answer(t), "mine")
	unknown(b)
	a.start()
	a.ready()
	more := accepted(t, modernAs(t, a, mine, "old__ask_name", ""))
	if m := modernAs(t, b, theirs, "old__ask_name", more); m.Error == nil {
		t.Errorf("a handle of another key: %s", m.Raw)
	}
	wants(t, modernAs(t, b, mine, "old__ask_name", more), "Ada")
}

// A library is a server whose tool changes.
type library struct {
	*mcpserver.Server
	url string
}

func newLibrary(t testing.TB) *library {
	l := &library{Server: mcpserver.New("lib")}
	l.lends("books")
	handler, stop := l.HTTP("")
	front := httptest.NewServer(handler)
	t.Cleanup(func() { front.Close(); stop() })
	l.url = front.URL + "/mcp"
	return l
}

// lends changes the definition of the tool.
func (l *library) lends(what string) {
	l.SetTools(mcpserver.Tool{
		Definition: fmt.Sprintf(`{"name":"borrow","description":"Borrow %s.","inputSchema":{"type":"object"}}`, what),
		Run:        func(context.Context, *mcpserver.Call) (any, error) { return mcpserver.Text("%s", what), nil },
	})
}

// shows waits until a replica lists a tool, or no longer does.
func shows(t testing.TB, r *replica, key, tool string, want bool) {
	t.Helper()
	await(t, fmt.Sprintf("replica %s lists %s: %v", r.name, tool, want), func() bool {
		s := holder(t, r, key)
		if m := s.Initialize(legacy, `{}`); m.Error != nil {
			return false
		}
		list := s.Post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Answer(t)
		return strings.Contains(string(list.Result), "back__echo") && strings.Contains(string(list.Result), tool) == want
	})
}

// sharedPins checks that a new replica holds back a tool that differs from what
// another replica has seen, until a person approves it there.
func sharedPins(t *testing.T, lib *library, a, b *replica) {
	key := strings.TrimSpace(a.must("key", "create", "pins"))
	for _, r := range []*replica{a, b} {
		enters(t, r, key)
		shows(t, r, key, "lib__borrow", true)
	}
	b.kill()
	if err := os.RemoveAll(filepath.Join(b.home, ".local")); err != nil {
		t.Fatal(err)
	}
	lib.lends("whatever you find")
	b.start()
	b.ready()
	shows(t, b, key, "lib__borrow", false)
	shows(t, a, key, "lib__borrow", false)
	if list := a.must("approve", "--json"); !strings.Contains(list, `"borrow"`) {
		t.Errorf("what waits is %s", list)
	}
	a.must("approve", "lib", "--yes")
	shows(t, a, key, "lib__borrow", true)
	shows(t, b, key, "lib__borrow", true)
}

// deployed checks that neither a client nor the console changes the file of one
// replica, and that both say why.
func deployed(t *testing.T, lib *library, a *replica) {
	key := strings.TrimSpace(a.must("key", "create", "approvals", "--scope", "admin"))
	enters(t, a, key)
	before, err := os.ReadFile(a.config)
	if err != nil {
		t.Fatal(err)
	}
	s := holder(t, a, key)
	if m := s.Initialize(legacy, `{}`); m.Error != nil {
		t.Fatalf("%+v", m.Error)
	}
	const why = "change the file on all of them"
	wants(t, s.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp-all-in-one-add-mcp-server","arguments":{"name":"extra","url":%q,"type":"http","apply":true}}}`,
		lib.url)).Answer(t), why)
	req, err := http.NewRequest(http.MethodPut, strings.TrimSuffix(a.url(), "/mcp")+"/api/v1/servers/default/extra", strings.NewReader(fmt.Sprintf(`{"entry":{"type":"http","url":%q}}`, lib.url)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-MCP-AIO", "1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode/100 == 2 || !strings.Contains(string(body), why) {
		t.Errorf("the console got %d: %s %v", resp.StatusCode, body, err)
	}
	if after, err := os.ReadFile(a.config); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed: %s %v", after, err)
	}
}

// cutOff checks that replicas keep their state while NATS is down, even if they
// start then, and that changes fail with a reason.
func cutOff(t *testing.T, server *mcptest.NATS, a, b *replica) {
	key := strings.TrimSpace(b.must("key", "create", "desk"))
	enters(t, a, key)
	server.Down()
	await(t, "a says that the engine is away", func() bool { s, _ := a.status(); return s.Engine.State == agreed.EngineAway })
	b.kill()
	b.start()
	enters(t, b, key)
	for _, args := range [][]string{{"key", "create", "other"}, {"key", "revoke", "desk"}} {
		if _, why, code := a.run(args...); code == 0 || !strings.Contains(why, "no_agreement") {
			t.Errorf("%v: exit code %d: %s", args, code, why)
		}
	}
	server.Restart()
	await(t, "b says that the engine is back", func() bool { s, _ := b.status(); return s.Engine.State == agreed.EngineReached })
	b.must("key", "revoke", "desk")
	await(t, "the key ends at a", func() bool {
		return holder(t, a, key).Post(mcptest.InitializeLine(legacy, `{}`)).Status == http.StatusUnauthorized
	})
}

// TestSessionsPerKey checks that the sessions of a key are counted at all replicas.
func TestSessionsPerKey(t *testing.T) {
	c := start(t, 2, options{members: true, access: `"limits":{"sessionsPerKey":4},` + behindBalancer})
	opens := func(r *replica) bool {
		return known(t, r.url()).Post(mcptest.InitializeLine(legacy, `{}`)).Status == http.StatusOK
	}
	t.Run("cluster/sessions per key", func(t *testing.T) {
		for i := range 4 {
			if !opens(c.replicas[0]) {
				t.Fatalf("session %d was refused", i)
			}
		}
		// Without a word of the first replica, the second one opens as many.
		tick, opened := time.NewTicker(300*time.Millisecond), 0
		defer tick.Stop()
		for <-tick.C; opened < 4 && opens(c.replicas[1]); opened++ {
			<-tick.C
		}
		if t.Logf("the other replica opened %d more", opened); opened == 4 {
			t.Error("the other replica does not know of the sessions")
		}
		c.replicas[0].kill()
		await(t, "a key may open sessions again when the replica that had them is gone", func() bool { return opens(c.replicas[1]) })
	})
}

// TestRates checks that a rate counts the calls of a client at all replicas.
func TestRates(t *testing.T) {
	const most = 60
	c := start(t, 2, options{members: true, access: fmt.Sprintf(`"limits":{"callsPerMinute":%d},`, most)})
	sessions := []*mcptest.RawHTTP{client(t, c.replicas[0], `{}`), client(t, c.replicas[1], `{}`)}
	admits := func(s *mcptest.RawHTTP) bool {
		m := s.Post(call(1, "back__echo", "x")).Answer(t)
		if m.Error != nil && !strings.Contains(string(m.Error.Data), "rate_limited") {
			t.Errorf("%+v", m.Error)
		}
		return m.Error == nil
	}
	t.Run("cluster/rates", func(t *testing.T) {
		for i := range most {
			if !admits(sessions[0]) {
				t.Fatalf("call %d was refused", i)
			}
		}
		// Without a word of the first replica, the second one admits as many.
		tick, admitted := time.NewTicker(200*time.Millisecond), 0
		defer tick.Stop()
		for ; admitted < most/2 && admits(sessions[1]); admitted++ {
			<-tick.C
		}
		if t.Logf("the other replica admitted %d more", admitted); admitted == most/2 {
			t.Error("the other replica does not know what was spent")
		}
	})
}
