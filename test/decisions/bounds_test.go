package decisions

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
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

// TestRecordKeepsToBounds checks that a bound administrator reads the calls of
// others to its servers only, and its own.
func TestRecordKeepsToBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil, keyAdmin: {"admin"}, keyLocal: {"admin", "server:other"}})
	w.start(map[string]any{"mcpServers": map[string]any{server: w.entry(server, nil), "other": w.entry("other", nil)}})
	heard := make(chan string, 100)
	w.events(keyLocal, "traffic", func(e *mcptest.Event) {
		if e != nil && e.Name == "traffic" {
			heard <- e.Data
		}
	})
	ann := w.streamable("/mcp", keyAnn, legacy)
	for _, call := range []struct {
		server string
		with   target
	}{{server, secret}, {"other", hello}} {
		if a := callTool(ann, call.server+"__"+tool)(call.with); a.reason != let {
			t.Fatalf("the call of %s: %v", call.server, a)
		}
	}
	beyond := func(text string) bool {
		return strings.Contains(text, "the-secret-of-ann") || strings.Contains(text, `"server":"`+server+`"`)
	}
	within := func(text string) bool { return strings.Contains(text, `"server":"other"`) }
	t.Run("door/9 record", func(t *testing.T) {
		for _, call := range []struct {
			method, path string
			body         any
		}{
			{http.MethodGet, "traffic?limit=1000", nil},
			{http.MethodGet, "traffic?q=the-secret-of-ann", nil},
			{http.MethodGet, "traffic/export", nil},
			{http.MethodPost, "suites/draft", map[string]any{"q": ""}},
		} {
			if _, body := w.api(keyAdmin, call.method, call.path, call.body); !beyond(body) && !strings.Contains(body, `"servers":["`+server) {
				t.Errorf("%s: an administrator should see the calls of both servers: %.500s", call.path, body)
			}
			status, body := w.api(keyLocal, call.method, call.path, call.body)
			if status != http.StatusOK || beyond(body) || strings.Contains(body, server+`"`) {
				t.Errorf("%s has calls beyond the bounds: %d %.500s", call.path, status, body)
			}
		}
		if _, body := w.api(keyLocal, http.MethodGet, "traffic?limit=1000", nil); !within(body) || !strings.Contains(body, w.keys[keyAnn].principal) {
			t.Errorf("a bound administrator should see the calls of its server: %.500s", body)
		}
	})
	t.Run("door/9 one entry and its bodies", func(t *testing.T) {
		for _, c := range w.calls(keyAdmin, "&q=server:"+server) {
			for _, path := range []string{"", "/body?side=req", "/body?side=res"} {
				if status, body := w.api(keyLocal, http.MethodGet, fmt.Sprintf("traffic/%d%s", c.ID, path), nil); status != http.StatusNotFound {
					t.Errorf("traffic/%d%s beyond the bounds: %d %.300s", c.ID, path, status, body)
				}
			}
		}
		for _, c := range w.calls(keyAdmin, "&q=server:other") {
			status, body := w.api(keyLocal, http.MethodGet, fmt.Sprintf("traffic/%d", c.ID), nil)
			if got := status == http.StatusOK; got != (c.Principal == w.keys[keyAnn].principal) && c.Principal != "" || beyond(body) {
				t.Errorf("traffic/%d of its server: %d %.300s", c.ID, status, body)
			}
		}
	})
	t.Run("door/9 events", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for last := ""; !within(last) || !strings.Contains(last, w.keys[keyAnn].principal); {
			select {
			case last = <-heard:
				if beyond(last) {
					t.Errorf("a bound administrator hears of calls beyond its bounds: %.500s", last)
				}
			case <-ctx.Done():
				t.Fatal("a bound administrator does not hear of calls of its server")
			}
		}
	})
	t.Run("door/9 sessions of others", func(t *testing.T) {
		for as, want := range map[string]bool{keyAdmin: true, keyLocal: false, keyAnn: true} {
			for _, path := range []string{"clients", "overview"} {
				if _, body := w.api(as, http.MethodGet, path, nil); strings.Contains(body, w.keys[keyAnn].principal) != want {
					t.Errorf("%s as %s: %.500s", path, as, body)
				}
			}
		}
	})
}

// TestTestsKeepToBounds checks that a bound administrator reads, writes and runs
// the test files of its servers only, and reads no totals of all servers.
func TestTestsKeepToBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAdmin: {"admin"}, keyLocal: {"admin", "server:other"}})
	w.start(map[string]any{"mcpServers": map[string]any{server: w.entry(server, nil), "other": w.entry("other", nil)}})
	file := func(target string) map[string]any {
		return map[string]any{"text": target + "\ntests:\n  - name: one\n    call: look\n    args: {}\n"}
	}
	targets := map[string]string{"of-house": "target: " + server, "of-other": "target: other", "of-all": "target: .", "of-url": "url: http://127.0.0.1:9/mcp"}
	for name, target := range targets {
		if status, body := w.api(keyAdmin, http.MethodPut, "suites/"+name, file(target)); status != http.StatusOK {
			t.Fatalf("%s: %d %s", name, status, body)
		}
		if status, body := w.api(keyAdmin, http.MethodPost, "suites/"+name+"/run", map[string]any{}); status != http.StatusAccepted {
			t.Fatalf("%s: %d %s", name, status, body)
		}
		w.until("the end of "+name, func() bool {
			_, body := w.api(keyAdmin, http.MethodGet, "suites/"+name, nil)
			return strings.Contains(body, `"start"`)
		})
	}
	for name, want := range map[string]struct{ seen, runs bool }{"of-house": {}, "of-other": {true, true}, "of-all": {true, false}, "of-url": {}} {
		t.Run("door/9 "+name, func(t *testing.T) {
			if _, body := w.api(keyLocal, http.MethodGet, "suites", nil); strings.Contains(body, name) != want.seen {
				t.Errorf("listed: %s", body)
			}
			if status, body := w.api(keyLocal, http.MethodGet, "suites/"+name, nil); (status == http.StatusOK) != want.seen || strings.Contains(body, `"start"`) != want.runs {
				t.Errorf("read: %d %s", status, body)
			}
			if status, body := w.api(keyLocal, http.MethodPost, "suites/"+name+"/run", map[string]any{}); (status == http.StatusAccepted) != want.seen {
				t.Errorf("run: %d %s", status, body)
			}
			if status, body := w.api(keyLocal, http.MethodPut, "suites/"+name, file("target: other")); (status == http.StatusOK) != want.seen {
				t.Errorf("replaced: %d %s", status, body)
			}
			if status, body := w.api(keyLocal, http.MethodPut, "suites/a-new-one", file(targets[name])); (status == http.StatusOK) != want.seen {
				t.Errorf("written: %d %s", status, body)
			}
			if status, body := w.api(keyLocal, http.MethodDelete, "suites/"+name, nil); (status < 300) != want.seen {
				t.Errorf("deleted: %d %s", status, body)
			}
		})
	}
	for path, want := range map[string]int{"history": http.StatusNotFound, "history?server=" + server: http.StatusNotFound, "history?server=other": http.StatusOK} {
		t.Run("door/9 "+path, func(t *testing.T) {
			if status, body := w.api(keyLocal, http.MethodGet, path, nil); status != want || strings.Contains(body, `"`+server+`"`) {
				t.Errorf("%d %s", status, body)
			}
		})
	}
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
