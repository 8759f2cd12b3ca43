package decisions

import (
	"net/http"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
)

// keyLocal is an administrator restricted to the server "other".
const keyLocal = "local-admin"

// TestConsoleKeepsToTheKey checks that the restrictions of a key apply to the
// console's API too.
func TestConsoleKeepsToTheKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil, keyAdmin: {"admin"}, keyBound: {"server:other"}, keyLocal: {"admin", "server:other"}})
	w.start(map[string]any{
		"mcpServers": map[string]any{server: w.entry(server, nil), "other": w.entry("other", nil)},
		"roots":      []any{map[string]any{"uri": "file:///srv/house", "name": "house"}},
	})
	w.until("both servers are connected", func() bool {
		_, _, body := w.do(http.MethodGet, "/status", keyAdmin, nil, nil)
		return strings.Contains(string(body), `"connectedServers":2`)
	})
	t.Run("door/9 issues of the catalog", func(t *testing.T) {
		const twin = `"with":["` + server + `/`
		if _, body := w.api(keyAnn, http.MethodGet, "catalog", nil); !strings.Contains(body, twin) {
			t.Errorf("a key that sees both should be told that their tools are the same: %s", body)
		}
		if _, body := w.api(keyBound, http.MethodGet, "catalog", nil); strings.Contains(body, server+"/") || !strings.Contains(body, `"server":"other"`) {
			t.Errorf("a bound key should be told of its server alone: %s", body)
		}
	})
	t.Run("door/9 configured roots", func(t *testing.T) {
		for as, want := range map[string]bool{keyAnn: false, keyBound: false, keyAdmin: true} {
			c := w.streamable("/mcp", as, legacy)
			if got := c.ask(mcp.MethodRootsList, map[string]any{}, nil).raw; strings.Contains(got, "srv/house") != want || !strings.Contains(got, `"roots"`) {
				t.Errorf("%s: %s", as, got)
			}
		}
	})
	for _, call := range []struct {
		method, path string
		body         any
	}{
		{http.MethodGet, "servers/default/NAME", nil},
		{http.MethodPut, "servers/default/NAME", map[string]any{"entry": map[string]any{"url": "http://127.0.0.1:9/"}}},
		{http.MethodPost, "servers/default/NAME/restart", nil},
		{http.MethodPost, "servers/default/NAME/disable", nil},
		{http.MethodPost, "servers/default/NAME/enable", nil},
		{http.MethodPost, "servers/default/NAME/approve", map[string]any{"hash": ""}},
		{http.MethodPut, "catalog/default/NAME/tool/" + tool, map[string]any{"on": true}},
		{http.MethodGet, "doctor?server=NAME", nil},
		{http.MethodDelete, "servers/default/NAME", nil},
	} {
		t.Run("door/9 a bound administrator "+call.method+" "+call.path, func(t *testing.T) {
			if status, body := w.api(keyLocal, call.method, strings.ReplaceAll(call.path, "NAME", server), call.body); status != http.StatusNotFound {
				t.Errorf("of a server beyond its bounds: %d %s", status, body)
			}
			if status, body := w.api(keyLocal, call.method, strings.ReplaceAll(call.path, "NAME", "other"), call.body); status >= 300 {
				t.Errorf("of its server: %d %s", status, body)
			}
		})
	}
	t.Run("door/9 a bound administrator decides about its servers", func(t *testing.T) {
		w := newWorld(t, map[string][]string{keyAnn: nil, keyChief: {"admin"}, keyLocal: {"admin", "server:other"}})
		w.start(map[string]any{"mcpServers": map[string]any{server: w.entry(server, asking), "other": w.entry("other", asking)}})
		for name, want := range map[string]bool{server: false, "other": true} {
			done := w.background(callTool(w.streamable("/mcp", keyAnn, legacy), name+"__"+tool))
			id := w.question()
			if got := len(w.questions(keyLocal)) > 0; got != want {
				t.Errorf("the question about %s is shown: %v", name, got)
			}
			if status, body := w.api(keyLocal, http.MethodPost, "inbox/"+id, map[string]any{"action": "accept"}); (status == http.StatusNoContent) != want {
				t.Errorf("the yes to a call of %s: %d %s", name, status, body)
			}
			w.api(keyChief, http.MethodPost, "inbox/"+id, map[string]any{"action": "decline"}) // if it still waits
			if a := done(); (a.reason == let) != want {
				t.Errorf("the call of %s came to %v", name, a)
			}
		}
	})
	t.Run("door/9 a bound administrator sees findings of its server", func(t *testing.T) {
		if status, body := w.api(keyLocal, http.MethodGet, "doctor", nil); status != http.StatusOK || strings.Contains(body, server) {
			t.Errorf("%d %s", status, body)
		}
	})
}

// TestKeptSecretStaysAtItsAddress checks that a secret that the page shows as
// *** is not sent to another address.
func TestKeptSecretStaysAtItsAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAdmin: {"admin"}})
	w.start(map[string]any{"mcpServers": map[string]any{
		"far": map[string]any{"url": "http://127.0.0.1:9/mcp", "headers": map[string]any{"Authorization": "Bearer hunter2"}, "retries": 0},
	}})
	put := func(url, header string) (int, string) {
		return w.api(keyAdmin, http.MethodPut, "servers/default/far", map[string]any{"entry": map[string]any{
			"url": url, "headers": map[string]any{"Authorization": header},
		}})
	}
	t.Run("door/5 another path", func(t *testing.T) {
		if status, body := put("http://127.0.0.1:9/other", "***"); status != http.StatusNoContent {
			t.Errorf("%d %s", status, body)
		}
	})
	for _, url := range []string{"http://127.0.0.1:10/other", "https://127.0.0.1:9/other", "http://localhost:9/other", "http://${HOST}/other"} {
		t.Run("door/5 "+url, func(t *testing.T) {
			if status, body := put(url, "***"); status != http.StatusUnprocessableEntity || !strings.Contains(body, "another address") {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	t.Run("door/5 given again", func(t *testing.T) {
		if status, body := put("http://127.0.0.1:10/other", "Bearer hunter3"); status != http.StatusNoContent {
			t.Errorf("%d %s", status, body)
		}
	})
}
