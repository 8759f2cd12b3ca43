package mcphttp_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestSessionLife(t *testing.T) {
	w, id := newSession(t, mcp.V2025_06_18)
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		t.Errorf("session id %q", id)
	}
	if o := w.opening(0); o.Transport != mcphttp.TransportSession || o.Client == nil || o.End == nil {
		t.Errorf("opening %+v", o)
	}
	if a := w.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", id, "MCP-Protocol-Version", mcp.V2025_06_18); a.status != 202 {
		t.Errorf("initialized: %d", a.status)
	}
	if a := w.post(callBody(1, "echo", "x", 0), "Mcp-Session-Id", id); a.status != 200 || len(w.openings) != 1 {
		t.Errorf("call: %d, %d openings", a.status, len(w.openings))
	}
	infos := w.srv.Sessions()
	if len(infos) != 1 || infos[0].Version != mcp.V2025_06_18 || !strings.HasPrefix(id, infos[0].Ref) || len(infos[0].Ref) > 8 {
		t.Errorf("sessions %+v", infos)
	}
	if a := w.send("DELETE", w.url, "", "Mcp-Session-Id", id); a.status != 204 {
		t.Errorf("DELETE: %d", a.status)
	}
	if a := w.post(callBody(1, "echo", "x", 0), "Mcp-Session-Id", id); a.status != 404 {
		t.Errorf("after DELETE: %d", a.status)
	}
	must.Await(t, "the session closed", func() bool { return w.closedSessions() == 1 })
}

func TestDeleteCancelsWhatRuns(t *testing.T) {
	w, id := newSession(t, mcp.V2025_06_18)
	stream := w.listen("", "Mcp-Session-Id", id)
	ch := w.inBackground(t.Context(), callBody(1, "wait", "x", 0), "Mcp-Session-Id", id)
	take(t, w.started)
	w.send("DELETE", w.url, "", "Mcp-Session-Id", id)
	if err := take(t, w.ended); !errors.Is(err, mcphttp.ErrSessionEnded) {
		t.Errorf("cause %v", err)
	}
	take(t, ch)
	stream.wantEnd()
	must.Await(t, "the session closed", func() bool { return w.closedSessions() == 1 })
}

func TestFailedInitialize(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{})
	a := w.post(initializeBody("2020-01-01"))
	if a.status != 200 || a.code() != mcp.CodeVersionRefused || a.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if a := w.post(initializeBody(mcp.V2025_06_18), "Test-Open", "fail"); a.status != 404 {
		t.Errorf("%d %s", a.status, a.body)
	}
	must.Await(t, "the session closed", func() bool { return w.closedSessions() == 1 })
	if n := w.srv.Stats().Sessions; n != 0 {
		t.Errorf("%d sessions", n)
	}
}

func TestShutdownEndsTheSession(t *testing.T) {
	w, id := newSession(t, mcp.V2025_06_18)
	stream := w.listen("", "Mcp-Session-Id", id)
	if a := w.post(`{"jsonrpc":"2.0","id":1,"method":"shutdown"}`, "Mcp-Session-Id", id); a.status != 200 || a.code() != 0 {
		t.Errorf("%d %s", a.status, a.body)
	}
	stream.wantEnd()
	if a := w.post(callBody(1, "echo", "x", 0), "Mcp-Session-Id", id); a.status != 404 {
		t.Errorf("afterwards: %d", a.status)
	}
}

func TestSessionLimit(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{Sessions: 2})
	first := w.initialize(mcp.V2025_06_18)
	w.initialize(mcp.V2025_06_18)
	a := w.post(initializeBody(mcp.V2025_06_18))
	if a.status != 503 || a.header.Get("Retry-After") == "" || !strings.Contains(a.body, "overloaded") {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if a := w.post(callBody(1, "echo", "x", 0)); a.status != 200 {
		t.Errorf("outside sessions: %d", a.status)
	}
	w.send("DELETE", w.url, "", "Mcp-Session-Id", first)
	w.initialize(mcp.V2025_06_18)
}

func TestCloseSessionsOf(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{})
	alice := w.initialize(mcp.V2025_06_18, "Test-Principal", "alice")
	bob := w.initialize(mcp.V2025_06_18, "Test-Principal", "bob")
	stream := w.listen("", "Mcp-Session-Id", alice, "Test-Principal", "alice")
	modern := w.listen(modernRequest("subscriptions/listen", ""), append(modernHeader("subscriptions/listen", ""), "Test-Principal", "alice")...)
	modern.want("acknowledged")
	w.srv.CloseSessionsOf("alice")
	stream.wantEnd()
	modern.want(`"result"`)
	modern.wantEnd()
	if a := w.post(callBody(1, "echo", "x", 0), "Mcp-Session-Id", alice, "Test-Principal", "alice"); a.status != 404 {
		t.Errorf("alice: %d", a.status)
	}
	if a := w.post(callBody(1, "echo", "x", 0), "Mcp-Session-Id", bob, "Test-Principal", "bob"); a.status != 200 {
		t.Errorf("bob: %d", a.status)
	}
}

func TestSessionsCannotBeGuessed(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{})
	own := w.initialize(mcp.V2025_06_18)
	foreign := w.initialize(mcp.V2025_06_18, "Test-Principal", "else")
	gone := w.initialize(mcp.V2025_06_18)
	w.send("DELETE", w.url, "", "Mcp-Session-Id", gone)
	t.Run("fault/T04", func(t *testing.T) {
		ids := []string{foreign, gone, own[:31], own + "0", strings.ToUpper(own) + "x", own[1:] + own[:1]}
		for i := range 500 {
			ids = append(ids, fmt.Sprintf("%032x", i*7919))
		}
		var body string
		for i, id := range ids {
			for _, method := range []string{"POST", "GET", "DELETE"} {
				if i > 10 && method != "POST" {
					continue
				}
				text := ""
				if method == "POST" {
					text = callBody(1, "echo", "x", 0)
				}
				a := w.send(method, w.url, text, "Mcp-Session-Id", id, "Accept", both)
				if a.status != 404 {
					t.Fatalf("%s with %q: %d %s", method, id, a.status, a.body)
				}
				if body == "" {
					body = a.body
				}
				if a.body != body {
					t.Errorf("%s with %q: body %s, others got %s", method, id, a.body, body)
				}
			}
		}
		if a := w.post(initializeBody(mcp.V2025_06_18), "Mcp-Session-Id", strings.Repeat("a", 32)); a.status != 404 {
			t.Errorf("initialize with an id of the client: %d", a.status)
		}
	})
	t.Run("fault/T04/minted", func(t *testing.T) {
		seen := make(map[string]bool)
		for range 300 {
			id := w.initialize(mcp.V2025_06_18)
			if seen[id] || len(id) != 32 {
				t.Fatalf("id %q", id)
			}
			seen[id] = true
		}
	})
}

func TestIdleSessionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryWorld(t, mcphttp.ServerLimits{SessionIdle: time.Hour})
		idle, used, streaming, calling := w.initialize(mcp.V2025_06_18), w.initialize(mcp.V2025_06_18), w.initialize(mcp.V2025_06_18), w.initialize(mcp.V2025_06_18)
		stream := w.listen("", "Mcp-Session-Id", streaming)
		ch := w.inBackground(t.Context(), callBody(1, "wait", "x", 0), "Mcp-Session-Id", calling)
		take(t, w.started)
		pass(40 * time.Minute)
		if a := w.post(callBody(1, "echo", "x", 0), "Mcp-Session-Id", used); a.status != 200 {
			t.Errorf("after 40 minutes: %d", a.status)
		}
		pass(30 * time.Minute)
		for _, tc := range []struct {
			name, id string
			status   int
		}{{"idle", idle, 404}, {"used", used, 200}, {"streaming", streaming, 200}, {"calling", calling, 200}} {
			if a := w.post(callBody(2, "echo", "x", 0), "Mcp-Session-Id", tc.id); a.status != tc.status {
				t.Errorf("corpus of fault/P3: %s session: %d, want %d", tc.name, a.status, tc.status)
			}
		}
		w.release <- struct{}{}
		take(t, ch)
		stream.close()
		pass(2 * time.Hour)
		if n := w.srv.Stats().Sessions; n != 0 {
			t.Errorf("%d sessions left", n)
		}
		w.close()
	})
}

// TestSessionsOfOneKey checks that one key cannot use all sessions.
func TestSessionsOfOneKey(t *testing.T) {
	hits := new(config.Hits)
	w := newWorld(t, mcphttp.ServerLimits{PerPrincipal: 2, Hits: hits})
	a := w.initialize(mcp.V2025_06_18, "Test-Principal", "a")
	w.initialize(mcp.V2025_06_18, "Test-Principal", "a")
	for path, got := range map[string]answer{
		"initialize": w.post(initializeBody(mcp.V2025_06_18), "Test-Principal", "a"),
		"sse":        w.send("GET", strings.TrimSuffix(w.url, "/mcp")+"/sse", "", "Test-Principal", "a", "Accept", "text/event-stream"),
	} {
		if got.status != 503 || !strings.Contains(got.body, "overloaded") {
			t.Errorf("%s: the third session: %d %s", path, got.status, got.body)
		}
	}
	w.initialize(mcp.V2025_06_18, "Test-Principal", "b")
	for range 3 {
		w.initialize(mcp.V2025_06_18) // without a principal
	}
	if got := w.send("DELETE", w.url, "", "Mcp-Session-Id", a, "Test-Principal", "a"); got.status != 204 {
		t.Fatalf("DELETE: %d", got.status)
	}
	w.initialize(mcp.V2025_06_18, "Test-Principal", "a")
	if n := hitsOf(hits, "sessionsPerKey"); n != 2 {
		t.Errorf("%d refusals are counted", n)
	}
}

// TestShareOfSessions checks that a key may have a quarter of the sessions by
// default, but the user of this machine all of them.
func TestShareOfSessions(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{Sessions: 8, Shares: func(who string) bool { return who != "local" }})
	for range 2 {
		w.initialize(mcp.V2025_06_18, "Test-Principal", "a")
	}
	t.Run("door/14 a third session of one key", func(t *testing.T) {
		got := w.post(initializeBody(mcp.V2025_06_18), "Test-Principal", "a")
		if got.status != 503 || !strings.Contains(got.body, "overloaded") || !strings.Contains(got.body, "its share of 8") || !strings.Contains(got.body, "limits.sessionsPerKey") {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
	t.Run("door/14 the local user", func(t *testing.T) {
		w.initialize(mcp.V2025_06_18, "Test-Principal", "b")
		for range 5 {
			w.initialize(mcp.V2025_06_18, "Test-Principal", "local")
		}
		if got := w.post(initializeBody(mcp.V2025_06_18), "Test-Principal", "b"); got.status != 503 || strings.Contains(got.body, "share") {
			t.Errorf("a session too many: %d %s", got.status, got.body)
		}
	})
}
