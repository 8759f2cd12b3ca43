package decisions

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// open opens a session of a client that describes itself with info.
func (w *world) open(as, info string) (header http.Header, answer string) {
	header = firstHeader.Clone()
	_, h, body := w.do(http.MethodPost, "/mcp", as, header, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,
		"capabilities":{"roots":{}},"clientInfo":%s}}`, mcp.V2025_11_25, info))
	header.Set("Mcp-Session-Id", h.Get("Mcp-Session-Id"))
	header.Set("Mcp-Protocol-Version", mcp.V2025_11_25)
	return header, string(body)
}

// TestMemoryOfSessions checks that what the sessions of a key keep in memory counts for
// the key until they end.
func TestMemoryOfSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil, keyBob: nil, "carl": nil, keyAdmin: {"admin"}})
	w.start(map[string]any{
		"mcpServers": map[string]any{server: w.entry(server, nil)},
		"limits":     map[string]any{"unfinishedPerKey": "400KB"}, // 300 KB without the part for bodies
	})
	large := fmt.Sprintf(`{"name":"large","version":"1","icons":[{"src":"data:image/png;base64,%s"}]}`, strings.Repeat("A", 50<<10))
	t.Run("door/14 how clients describe themselves", func(t *testing.T) {
		var opened []http.Header
		last := ""
		for range 12 {
			var h http.Header
			if h, last = w.open(keyAnn, large); !strings.Contains(last, `"serverInfo"`) {
				break
			}
			opened = append(opened, h)
		}
		if len(opened) < 3 || len(opened) > 7 || !overShare(last) {
			t.Fatalf("after %d sessions: %.300s", len(opened), last)
		}
		if _, a := w.open(keyBob, large); !strings.Contains(a, `"serverInfo"`) {
			t.Errorf("a session of another key: %.300s", a)
		}
		if status, _, body := w.do(http.MethodDelete, "/mcp", keyAnn, opened[0], nil); status != http.StatusNoContent {
			t.Fatalf("ending a session: %d %.300s", status, body)
		}
		w.until("another session opens when one has ended", func() bool {
			_, a := w.open(keyAnn, large)
			return strings.Contains(a, `"serverInfo"`)
		})
	})
	t.Run("door/14 subscriptions", func(t *testing.T) {
		s := w.streamable("/mcp", "carl", legacy)
		name := func(i int) map[string]any {
			return map[string]any{"uri": fmt.Sprintf("memos://demo/%d%s", i, strings.Repeat("u", 6<<10))}
		}
		n, last := 0, answer{}
		for ; n < 60; n++ {
			if last = s.ask(mcp.MethodSubscribe, name(n), nil); last.reason != let {
				break
			}
		}
		if n < 10 || n > 30 || !overShare(last.raw) {
			t.Fatalf("after %d subscriptions: %.300s", n, last.raw)
		}
		if a := s.ask(mcp.MethodSubscribe, name(0), nil); a.reason != let {
			t.Errorf("subscribing again: %.300s", a.raw)
		}
		for range 3 {
			if a := s.ask(mcp.MethodUnsubscribe, name(0), nil); a.reason != let {
				t.Fatalf("unsubscribing: %.300s", a.raw)
			}
		}
		if a := s.ask(mcp.MethodSubscribe, name(n), nil); a.reason != let {
			t.Errorf("when one subscription has ended: %.300s", a.raw)
		}
		if a := s.ask(mcp.MethodSubscribe, name(n+1), nil); !overShare(a.raw) {
			t.Errorf("one that ended counts once, but another begins: %.300s", a.raw)
		}
	})
}

// TestMemoryOfStreams checks that what a key listens to counts for the key.
func TestMemoryOfStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil, keyBob: nil, keyAdmin: {"admin"}})
	w.start(map[string]any{
		"mcpServers": map[string]any{server: w.entry(server, nil)},
		"limits":     map[string]any{"unfinishedPerKey": "400KB"},
	})
	listen := func(as string, uris ...string) string {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		header := w.streamable("/mcp", as, modern).(*streamable).header.Clone()
		header.Set("Mcp-Method", mcp.MethodListen)
		resp, err := w.send(ctx, http.MethodPost, "/mcp", as, header, request(1, mcp.MethodListen, map[string]any{"notifications": map[string]any{"resourceSubscriptions": uris}}, modern))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
			text, _ := io.ReadAll(resp.Body)
			return string(text)
		}
		return mcptest.NewEvents(resp.Body).Next().Data
	}
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf("memos://demo/%d", i)
	}
	n, last := 0, ""
	for ; n < 20; n++ {
		if last = listen(keyAnn, many...); !strings.Contains(last, mcp.NotificationListening) {
			break
		}
	}
	if n < 2 || n > 6 || !overShare(last) {
		t.Fatalf("door/14 after %d streams: %.300s", n, last)
	}
	if got := listen(keyBob, many...); !strings.Contains(got, mcp.NotificationListening) {
		t.Errorf("door/14 another key: %.300s", got)
	}
}

// TestMemoryOfRoots checks that the roots of a key's sessions count for the key. A server
// that may not have them gets an error.
func TestMemoryOfRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil, keyBob: nil, keyAdmin: {"admin"}})
	w.start(map[string]any{
		"mcpServers": map[string]any{server: w.entry(server, map[string]any{envAsks: "1"})},
		"limits":     map[string]any{"unfinishedPerKey": "400KB"},
	})
	n, last := 0, answer{}
	for ; n < 12; n++ {
		if last = w.tellRoots(keyAnn, 50<<10); !strings.Contains(last.raw, ran) {
			break
		}
	}
	if n < 2 || n > 4 || !overShare(last.raw) {
		t.Fatalf("door/14 after %d sessions: %.300s", n, last.raw)
	}
	if a := w.tellRoots(keyAnn, 10); !strings.Contains(a.raw, ran) {
		t.Errorf("door/14 a client with one root: %.300s", a.raw)
	}
	if a := w.tellRoots(keyBob, 50<<10); !strings.Contains(a.raw, ran) {
		t.Errorf("door/14 another key: %.300s", a.raw)
	}
}

// tellRoots calls the tool that asks for roots, and answers with so many bytes.
func (w *world) tellRoots(as string, size int) answer {
	header, _ := w.open(as, `{"name":"rooted","version":"1"}`)
	resp, err := w.send(w.t.Context(), http.MethodPost, "/mcp", as, header, request(7, mcp.MethodToolsCall, map[string]any{"name": server + "__roots"}, legacy))
	if err != nil {
		return answer{unclear, err.Error()}
	}
	defer resp.Body.Close()
	events := mcptest.NewEvents(resp.Body)
	for e := events.Next(); e != nil; e = events.Next() {
		if id := jsonrpc.Get([]byte(e.Data), "id"); strings.Contains(e.Data, `"`+mcp.MethodRootsList+`"`) {
			w.do(http.MethodPost, "/mcp", as, header, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"roots":[],"_meta":{"more":%q}}}`, id, strings.Repeat("r", size)))
			return firstAnswer(events, 7)
		}
	}
	return answer{unclear, "no question came"}
}

// TestWaitingCallsOfTokens checks that a call that waits for an answer of its client
// is continued only with the rights with which it began.
func TestWaitingCallsOfTokens(t *testing.T) {
	t.Parallel()
	is := newIssuer(t)
	w := newWorld(t, map[string][]string{keyAdmin: {"admin"}})
	w.oauth = map[string]any{"issuer": is.URL, "resource": audience, "jwks": is.URL}
	w.start(map[string]any{"mcpServers": map[string]any{server: w.entry(server, map[string]any{envAsks: "1"})}})
	const wide, again, narrow = "wide", "again", "narrow"
	hour := time.Now().Add(time.Hour)
	w.keys[wide], w.keys[again], w.keys[narrow] = is.token("ann", "", hour), is.token("ann", "", hour.Add(time.Minute)), is.token("ann", "server:"+server, hour)
	state := stateIn(w.large(wide, "ask", nil))
	if state == "" {
		t.Fatal("the call does not wait")
	}
	more := map[string]any{"requestState": state, "inputResponses": map[string]any{"in1": map[string]any{"action": "decline"}}}
	if text := w.large(narrow, "ask", more); !strings.Contains(text, "requestState is not valid") {
		t.Errorf("with another token of the same person: %.300s", text)
	}
	if text := w.large(narrow, "ask", nil); !strings.Contains(text, `"input_required"`) {
		t.Errorf("a call of its own: %.300s", text)
	}
	if text := w.large(again, "ask", more); !strings.Contains(text, "decline") {
		t.Errorf("with a token of the same rights: %.300s", text)
	}
}
