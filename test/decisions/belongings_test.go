package decisions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// secret is in the arguments of one key; no other key may see it.
var secret = target{arguments: map[string]any{"text": "the-secret-of-ann"}}

// calls returns the entries of the record that a key sees.
func (w *world) calls(as, query string) (list []struct {
	ID        uint64
	Principal string
}) {
	w.t.Helper()
	status, body := w.api(as, http.MethodGet, "traffic?limit=1000"+query, nil)
	var page struct {
		Calls []struct {
			ID        uint64
			Principal string
		}
	}
	if status != http.StatusOK || json.Unmarshal([]byte(body), &page) != nil {
		w.t.Fatalf("the record of %s: %d %s", as, status, body)
	}
	return page.Calls
}

// TestRecordBelongsToItsKey checks that each key reads only its own part of the
// record.
func TestRecordBelongsToItsKey(t *testing.T) {
	t.Parallel()
	w := town(t, nil)
	ann, bob := callTool(w.streamable("/mcp", keyAnn, legacy), server+"__"+tool), callTool(w.streamable("/mcp", keyBob, legacy), server+"__"+tool)
	var mu sync.Mutex
	var heard strings.Builder
	own := make(chan struct{})
	once := sync.OnceFunc(func() { close(own) })
	w.events(keyBob, "traffic", func(e *mcptest.Event) {
		if e == nil {
			once()
			return
		}
		mu.Lock()
		defer mu.Unlock()
		heard.WriteString(e.Data)
		if strings.Contains(heard.String(), w.keys[keyBob].principal) {
			once()
		}
	})
	if a := ann(secret); a.reason != let {
		t.Fatalf("the call of ann: %v", a)
	}
	if a := bob(hello); a.reason != let {
		t.Fatalf("the call of bob: %v", a)
	}
	var theirs []uint64
	for _, c := range w.calls(keyAdmin, "") {
		if c.Principal == w.keys[keyAnn].principal {
			theirs = append(theirs, c.ID)
		}
	}
	if len(theirs) == 0 {
		t.Fatal("an administrator does not see the calls of ann")
	}
	t.Run("door/7 record", w.recordIsTheirs)
	t.Run("door/7 one entry and its bodies", func(t *testing.T) { w.entriesAreTheirs(t, theirs) })
	t.Run("door/7 exports", w.exportsAreTheirs)
	t.Run("door/7 events", func(t *testing.T) {
		// Events arrive in order, and the key's own call was the last.
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		select {
		case <-own:
		case <-ctx.Done():
			t.Error("a key does not hear of its own call")
		}
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(heard.String(), w.keys[keyAnn].principal) {
			t.Errorf("a plain key hears of another's calls: %.500s", heard.String())
		}
	})
}

// recordIsTheirs checks that an administrator sees all calls, and a key only
// its own.
func (w *world) recordIsTheirs(t *testing.T) {
	seen := map[string]map[string]int{}
	for _, as := range []string{keyAdmin, keyAnn, keyBob} {
		seen[as] = map[string]int{}
		for _, c := range w.calls(as, "") {
			seen[as][c.Principal]++
		}
	}
	a, b := w.keys[keyAnn].principal, w.keys[keyBob].principal
	if seen[keyAdmin][a] == 0 || seen[keyAdmin][b] == 0 {
		t.Errorf("an administrator should see the calls of both: %v", seen[keyAdmin])
	}
	if seen[keyBob][b] == 0 || len(seen[keyBob]) != 1 {
		t.Errorf("a plain key should see its own calls and no others: %v", seen[keyBob])
	}
}

// entriesAreTheirs checks that bob cannot see a call of ann.
func (w *world) entriesAreTheirs(t *testing.T, theirs []uint64) {
	for _, id := range theirs {
		for _, path := range []string{"", "/body?side=req", "/body?side=res"} {
			if status, body := w.api(keyBob, http.MethodGet, fmt.Sprintf("traffic/%d%s", id, path), nil); status != http.StatusNotFound {
				t.Errorf("traffic/%d%s of another should be 404, and is %d %.300s", id, path, status, body)
			}
		}
	}
	if _, body := w.api(keyAnn, http.MethodGet, fmt.Sprintf("traffic/%d/body?side=req", theirs[len(theirs)-1]), nil); !strings.Contains(body, "{") {
		t.Errorf("an own body should be readable: %s", body)
	}
}

// exportsAreTheirs checks that exports of the record contain only the key's own
// calls.
func (w *world) exportsAreTheirs(t *testing.T) {
	if _, body := w.api(keyBob, http.MethodGet, "traffic/export", nil); strings.Contains(body, "the-secret-of-ann") || strings.Contains(body, w.keys[keyAnn].principal) {
		t.Errorf("an export has another's calls: %.500s", body)
	}
	if _, body := w.api(keyBob, http.MethodPost, "suites/draft", map[string]any{"q": ""}); strings.Contains(body, "the-secret-of-ann") {
		t.Errorf("a draft of tests has another's calls: %.500s", body)
	}
}

// TestBenchBelongsToItsKey checks that another key cannot see a session of the
// Bench, its runs and its questions.
func TestBenchBelongsToItsKey(t *testing.T) {
	t.Parallel()
	w := town(t, nil)
	s, ok := w.openBench(keyAnn, map[string]any{"via": "gateway"}, legacy).(*benched)
	if !ok {
		t.Fatal("the Bench does not open")
	}
	if a := callTool(s, server+"__"+tool)(secret); a.reason != let {
		t.Fatalf("the call at the Bench: %v", a)
	}
	_, runs := w.api(keyAnn, http.MethodGet, "runs", nil)
	var list []struct{ ID string }
	if json.Unmarshal([]byte(runs), &list) != nil || len(list) == 0 {
		t.Fatalf("a key should see its own runs: %s", runs)
	}
	for _, tt := range []struct {
		method, path string
		body         any
	}{
		{http.MethodGet, "bench/" + s.id, nil},
		{http.MethodGet, "bench/" + s.id + "/list/tools", nil},
		{http.MethodPost, "bench/" + s.id + "/calls", map[string]any{"method": "ping"}},
		{http.MethodPut, "bench/" + s.id + "/roots", map[string]any{"roots": []any{}}},
		{http.MethodGet, "runs/" + list[0].ID, nil},
		{http.MethodGet, "runs/" + list[0].ID + "/body", nil},
		{http.MethodDelete, "bench/" + s.id, nil},
	} {
		t.Run("door/7 "+tt.method+" "+strings.ReplaceAll(strings.ReplaceAll(tt.path, s.id, "ID"), list[0].ID, "ID"), func(t *testing.T) {
			if status, body := w.api(keyBob, tt.method, tt.path, tt.body); status != http.StatusNotFound {
				t.Errorf("another's should be 404, and is %d %.300s", status, body)
			}
		})
	}
	t.Run("door/7 lists", func(t *testing.T) {
		for path, mine := range map[string]string{"bench": s.id, "runs": list[0].ID, "runs?export": "the-secret-of-ann"} {
			if _, body := w.api(keyBob, http.MethodGet, path, nil); strings.Contains(body, mine) {
				t.Errorf("%s has another's: %.300s", path, body)
			}
		}
	})
}

// TestTesterKeepsToPolicies checks that policies apply to the Bench and to test
// files, and that their calls are audited.
func TestTesterKeepsToPolicies(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string]map[string]any{
		"denied": {"deny": []string{tool}}, "disabled": {"tools": off(tool)}, "ask": asking, "server off": {"enabled": false},
	} {
		t.Run("door/7 "+name, func(t *testing.T) {
			w := town(t, entry)
			w.events(keyChief, "inbox", func(*mcptest.Event) {
				for _, q := range w.questions(keyChief) {
					w.api(keyChief, http.MethodPost, "inbox/"+q, map[string]any{"action": "decline"})
				}
			})
			for way, try := range map[string]attempt{
				"bench of the server through the gateway": w.bench(keyAnn, map[string]any{"via": "gateway", "server": server}, legacy, tool),
				"bench of the server":                     w.bench(keyAnn, map[string]any{"server": server}, legacy, tool),
				"test file of the server":                 w.suite(keyAnn, server, tool),
			} {
				before := w.heard(mcp.MethodToolsCall)
				if a := try(hello); a.reason == let {
					t.Errorf("%s: %v", way, a)
				}
				if n := w.heard(mcp.MethodToolsCall) - before; n > 0 {
					t.Errorf("%s: the server heard %d calls", way, n)
				}
			}
		})
	}
	t.Run("door/7 audit", func(t *testing.T) {
		w := town(t, nil)
		for who, id := range map[string]doorID{keyAnn: doorBench, keyCompact: doorExec} {
			try := doors[id].open(w, legacy)
			if id == doorBench {
				try = w.bench(keyAnn, map[string]any{"via": "gateway"}, legacy, server+"__"+tool)
			}
			if a := try(hello); a.reason != let {
				t.Fatalf("the call of %s: %v", who, a)
			}
		}
		w.stop()
		for who, via := range map[string]string{keyAnn: "console", keyCompact: "exec"} {
			found := false
			for _, e := range w.trail() {
				found = found || e.Principal == w.keys[who].principal && e.Door == via && e.Server == server && e.names(tool)
			}
			if !found {
				t.Errorf("the audit trail should have the principal %s, the door %q, the server %q and the tool %q: %v", w.keys[who].principal, via, server, tool, w.trail())
			}
		}
	})
}

// TestNarrowedKey checks that what a key has opened ends when it loses scopes.
func TestNarrowedKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: {"admin"}, keyAdmin: {"admin"}})
	w.start(map[string]any{"mcpServers": map[string]any{server: w.entry(server, map[string]any{"deny": []string{tool}})}})
	at, ok := w.openBench(keyAnn, map[string]any{"server": server}, legacy).(*benched)
	if !ok {
		t.Fatal("the Bench does not open")
	}
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	_, opened, _ := w.do(http.MethodPost, "/mcp", keyAnn, header, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
	header.Set("Mcp-Session-Id", opened.Get("Mcp-Session-Id"))
	ping := func() int {
		status, _, _ := w.do(http.MethodPost, "/mcp", keyAnn, header, []byte(`{"jsonrpc":"2.0","id":2,"method":"ping"}`))
		return status
	}
	if status := ping(); status != http.StatusOK {
		t.Fatalf("the session before: %d", status)
	}
	w.narrow(keyAnn, `"tools": ["`+server+`/none"]`)
	w.until("the session has ended", func() bool { return ping() == http.StatusNotFound })
	call := map[string]any{"method": mcp.MethodToolsCall, "params": map[string]any{"name": tool, "arguments": map[string]any{}}}
	if status, body := w.api(keyAnn, http.MethodPost, "bench/"+at.id+"/calls", call); status != http.StatusNotFound {
		t.Errorf("a call in the Bench session of the wider key: %d %s", status, body)
	}
}

// narrow restricts a key in the file of keys.
func (w *world) narrow(name, to string) {
	w.t.Helper()
	path := filepath.Join(w.dir, "keys.json")
	text, was := read(w.t, path), `"name": "`+name+`",`
	if !strings.Contains(text, was) {
		w.t.Fatalf("the file of keys: %s", text)
	}
	// The file is replaced: one that is half written has no keys.
	if err := cmp.Or(os.WriteFile(path+".new", []byte(strings.Replace(text, was, was+" "+to+",", 1)), 0o600), os.Rename(path+".new", path)); err != nil {
		w.t.Fatal(err)
	}
}

// TestNarrowedKeyAndResults checks that a key reads the kept results of those servers
// alone that it sees.
func TestNarrowedKeyAndResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil, keyAdmin: {"admin"}})
	w.start(map[string]any{
		"mcpServers": map[string]any{server: w.entry(server, nil), "other": w.entry("other", nil)},
		"results":    map[string]any{"limit": "1B", "head": "0B", "tail": "0B"},
	})
	s := w.streamable("/mcp", keyAnn, legacy)
	var kept [2]string
	for i, from := range []string{server, "other"} {
		if kept[i] = resultURI.FindString(callTool(s, from+"__"+tool)(secret).raw); kept[i] == "" {
			t.Fatalf("the result of %s is not kept", from)
		}
	}
	reads := func(i int) string {
		return w.streamable("/mcp", keyAnn, legacy).ask(mcp.MethodResourcesRead, map[string]any{"uri": kept[i]}, nil).reason
	}
	if reads(0) != let || reads(1) != let {
		t.Fatal("the results cannot be read")
	}
	w.narrow(keyAnn, `"servers": ["other"]`)
	w.until("the key does not see the server any more", func() bool {
		return !strings.Contains(w.streamable("/mcp", keyAnn, legacy).ask(mcp.MethodToolsList, nil, nil).raw, server+"__")
	})
	if got := reads(0); got != notFound {
		t.Errorf("the result of the other server: %v", got)
	}
	if got := reads(1); got != let {
		t.Errorf("the result of the server that the key still sees: %v", got)
	}
}
