package decisions

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// The keys of these tests, besides the administrator: two with the same rights,
// a second administrator, and one restricted to the server "other".
const (
	keyAnn   = "ann"
	keyBob   = "bob"
	keyChief = "chief"
	keyBound = "bound"
)

// town returns a world with two servers; entry is added to that of the first.
func town(t *testing.T, entry map[string]any) *world {
	w := newWorld(t, map[string][]string{
		keyAnn: nil, keyBob: nil, keyAdmin: {"admin"}, keyChief: {"admin"}, keyBound: {"server:other"},
		keyCompact: {"mode:compact"}, keyAuto: {"mode:auto"},
	})
	w.start(map[string]any{
		"mcpServers": map[string]any{server: w.entry(server, entry), "other": w.entry("other", nil)},
	})
	return w
}

var asking = map[string]any{"tools": map[string]any{tool: map[string]any{"ask": true}}}

// heard counts the clients' requests that reached the server.
func (w *world) heard(method string) (n int) {
	w.t.Helper()
	list, err := readJournal(w.journal())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range list {
		if h.Server == server && h.Method == method && (method != mcp.MethodToolsCall || h.wanted()) {
			n++
		}
	}
	return n
}

// TestBenchHasTheRightsOfItsKey checks that a plain key has only its own rights
// at the Bench, and that a principal cannot approve its own call.
func TestBenchHasTheRightsOfItsKey(t *testing.T) {
	t.Parallel()
	t.Run("door/1 no tools of administrators", func(t *testing.T) {
		w := town(t, nil)
		before, err := os.ReadFile(w.config())
		if err != nil {
			t.Fatal(err)
		}
		const add = "mcp-all-in-one-add-mcp-server"
		for as, has := range map[string]bool{keyAnn: false, keyAdmin: true} {
			list := w.openBench(as, map[string]any{"via": "gateway"}, legacy).ask(mcp.MethodToolsList, map[string]any{}, nil)
			if strings.Contains(list.raw, add) != has {
				t.Errorf("the list of %s has %s: %v, want %v: %v", as, add, !has, has, list)
			}
		}
		for _, e := range both {
			s := w.openBench(keyAnn, map[string]any{"via": "gateway"}, e)
			a := s.ask(mcp.MethodToolsCall, map[string]any{"name": add, "arguments": map[string]any{"name": "evil", "command": "/bin/true"}}, nil)
			if a.reason != notFound {
				t.Errorf("%v: a plain key that adds a server should be told %q, and was told %v", e, notFound, a)
			}
		}
		if after, err := os.ReadFile(w.config()); err != nil || string(after) != string(before) {
			t.Errorf("the config file has changed (%v): %s", err, after)
		}
		if status, body := w.api(keyAnn, http.MethodPost, "servers/default/other/approve", map[string]any{}); status != http.StatusForbidden {
			t.Errorf("a plain key that approves a server should get 403, and got %d %s", status, body)
		}
	})
	t.Run("door/1 no approval of one's own server", func(t *testing.T) {
		w := town(t, nil)
		s := w.streamable("/mcp", keyAdmin, legacy)
		if a := s.ask(mcp.MethodToolsCall, map[string]any{"name": "mcp-all-in-one-add-mcp-server", "arguments": map[string]any{"name": "late", "command": "/bin/true"}}, nil); a.reason != let {
			t.Fatalf("adding a server: %v", a)
		}
		for _, tt := range []struct {
			who  string
			want int
		}{{keyAdmin, http.StatusForbidden}, {keyChief, http.StatusNoContent}} {
			_, body := w.api(tt.who, http.MethodGet, "servers/default/late", nil)
			var detail struct{ Approval struct{ Hash string } }
			if err := json.Unmarshal([]byte(body), &detail); err != nil || detail.Approval.Hash == "" {
				t.Fatalf("the server should wait: %v %s", err, body)
			}
			if status, body := w.api(tt.who, http.MethodPost, "servers/default/late/approve", detail.Approval); status != tt.want {
				t.Errorf("the approval by %s should get %d, and got %d %s", tt.who, tt.want, status, body)
			}
		}
	})
	// Who makes the call, and who answers: only another administrator may
	// approve.
	for _, tt := range []struct {
		who, answers string
		counts       bool
	}{{keyAnn, keyAnn, false}, {keyAnn, keyBob, false}, {keyAdmin, keyAdmin, false}, {keyAnn, keyChief, true}, {keyAdmin, keyChief, true}} {
		for _, at := range []string{"session", "bench"} {
			t.Run(fmt.Sprintf("door/1 %s asks in a %s and %s says yes", tt.who, at, tt.answers), func(t *testing.T) {
				w := town(t, asking)
				s := w.streamable("/mcp", tt.who, legacy)
				if at == "bench" {
					s = w.openBench(tt.who, map[string]any{"via": "gateway"}, legacy)
				}
				done := w.background(callTool(s, server+"__"+tool))
				id := w.question()
				status, body := w.api(tt.answers, http.MethodPost, "inbox/"+id, map[string]any{"action": "accept"})
				if ok := status == http.StatusNoContent; ok != tt.counts {
					t.Errorf("the yes of %s to a call of %s is taken: %v, want %v: %d %s", tt.answers, tt.who, ok, tt.counts, status, body)
				}
				w.api(keyChief, http.MethodPost, "inbox/"+id, map[string]any{"action": "decline"}) // if it still waits
				if a := done(); (a.reason == let) != tt.counts {
					t.Errorf("the call came to %v", a)
				}
				if got := w.heard(mcp.MethodToolsCall) > 0; got != tt.counts {
					t.Errorf("the server heard the call: %v, want %v", got, tt.counts)
				}
			})
		}
	}
}

// background makes an attempt that waits for a person. The returned function
// waits for the answer.
func (w *world) background(try attempt) func() answer {
	done := make(chan answer, 1)
	go func() {
		defer close(done)
		done <- try(hello)
	}()
	return func() answer {
		w.t.Helper()
		a, ok := <-done
		if !ok {
			w.t.Fatal("the attempt has failed")
		}
		return a
	}
}

// question waits for the first question in the inbox.
func (w *world) question() (id string) {
	w.t.Helper()
	asked := w.untilEvent(keyChief, func() bool {
		ids := w.questions(keyChief)
		if len(ids) > 0 {
			id = ids[0]
		}
		return id != ""
	})
	if !asked {
		w.t.Fatal("there is no question in the inbox")
	}
	return id
}

// TestAskedBehindExec checks that a call behind exec needs approval too.
func TestAskedBehindExec(t *testing.T) {
	t.Parallel()
	for _, id := range []doorID{doorExec, doorAuto} {
		for _, e := range both {
			for _, action := range []string{"decline", "accept"} {
				t.Run(fmt.Sprintf("door/4 %s %v %s", doors[id].name, e, action), func(t *testing.T) {
					w := town(t, asking)
					try := doors[id].open(w, e)
					asked := make(chan string, 1)
					w.events(keyChief, "inbox", func(*mcptest.Event) {
						for _, q := range w.questions(keyChief) {
							_, list := w.api(keyChief, http.MethodGet, "inbox", nil)
							select {
							case asked <- list:
							default:
							}
							w.api(keyChief, http.MethodPost, "inbox/"+q, map[string]any{"action": action})
						}
					})
					a := try(hello)
					ran := w.heard(mcp.MethodToolsCall) > 0
					if want := action == "accept"; (a.reason == let) != want || ran != want {
						t.Errorf("after %s: the client was told %v, and the server heard the call: %v", action, a, ran)
					}
					select {
					case list := <-asked:
						if !strings.Contains(list, `"`+tool+`"`) || !strings.Contains(list, `"`+server+`"`) {
							t.Errorf("the question does not name %s of %s: %s", tool, server, list)
						}
					default:
						t.Error("nobody was asked")
					}
				})
			}
		}
	}
}

// TestTasksBelongToTheirKey checks that a key cannot see the tasks of another.
func TestTasksBelongToTheirKey(t *testing.T) {
	t.Parallel()
	w := town(t, nil)
	ann, bob, bound := w.streamable("/mcp", keyAnn, legacy), w.streamable("/mcp", keyBob, legacy), w.streamable("/mcp", keyBound, legacy)
	made := ann.ask(mcp.MethodToolsCall, map[string]any{"name": server + "__" + tool, "arguments": hello.arguments, "task": map[string]any{"ttl": 60000}}, nil)
	id := taskID(made.raw)
	if id == "" {
		t.Fatalf("no task was made: %v", made)
	}
	t.Run("door/6 its own", func(t *testing.T) {
		if a := ann.ask(mcp.MethodTasksGet, map[string]any{"taskId": id}, nil); a.reason != let || taskID(a.raw) != id {
			t.Errorf("tasks/get of the key that made it: %v", a)
		}
		if a := ann.ask(mcp.MethodTasksList, map[string]any{}, nil); !strings.Contains(a.raw, id) {
			t.Errorf("tasks/list of the key that made it: %v", a)
		}
	})
	for name, s := range map[string]session{keyBob: bob, keyBound: bound} {
		for _, method := range []string{mcp.MethodTasksGet, mcp.MethodTasksResult, mcp.MethodTasksCancel} {
			t.Run(fmt.Sprintf("door/6 %s of another's by %s", method, name), func(t *testing.T) {
				before := w.heard(method)
				if a := s.ask(method, map[string]any{"taskId": id}, nil); a.reason != notFound {
					t.Errorf("should be told %q, and was told %v", notFound, a)
				}
				if n := w.heard(method) - before; n > 0 {
					t.Errorf("the server heard %d %s", n, method)
				}
			})
		}
		t.Run("door/6 tasks/list by "+name, func(t *testing.T) {
			if a := s.ask(mcp.MethodTasksList, map[string]any{}, nil); strings.Contains(a.raw, id) {
				t.Errorf("another's task is listed: %v", a)
			}
		})
	}
}

// TestSeenIsWhatTheKeySees checks that instructions and pages show only what
// the key sees.
func TestSeenIsWhatTheKeySees(t *testing.T) {
	t.Parallel()
	w := town(t, nil)
	w.until("both servers are connected", func() bool {
		_, _, body := w.do(http.MethodGet, "/status", keyAdmin, nil, nil)
		return strings.Contains(string(body), `"connectedServers":2`)
	})
	const theirs, ours = "Instructions of " + server, "Instructions of other"
	initialize := func(as string) string {
		_, _, body := w.do(http.MethodPost, "/mcp", as, http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}},
			[]byte(mcptest.InitializeLine(mcp.V2025_11_25, `{}`)))
		return string(body)
	}
	discover := func(as string) string {
		return w.streamable("/mcp", as, modern).ask(mcp.MethodDiscover, map[string]any{}, nil).raw
	}
	for name, read := range map[string]func(string) string{"initialize": initialize, "server/discover": discover} {
		t.Run("door/9 instructions in "+name, func(t *testing.T) {
			if got := read(keyAnn); !strings.Contains(got, theirs) || !strings.Contains(got, ours) {
				t.Errorf("a key that sees all should have the instructions of both: %s", got)
			}
			if got := read(keyBound); strings.Contains(got, theirs) || !strings.Contains(got, ours) {
				t.Errorf("a key bound to one server should have its instructions and no others: %s", got)
			}
		})
	}
	t.Run("door/9 status", func(t *testing.T) {
		for _, path := range []string{"/status", "/api/status"} {
			if _, _, body := w.do(http.MethodGet, path, keyBound, nil, nil); strings.Contains(string(body), `"`+server+`"`) || !strings.Contains(string(body), `"other"`) {
				t.Errorf("%s should have the server of the key and no others: %s", path, body)
			}
		}
	})
	t.Run("door/9 health without a key", func(t *testing.T) {
		status, _, body := w.do(http.MethodGet, "/health", "", nil, nil)
		var members map[string]json.RawMessage
		if err := json.Unmarshal(body, &members); err != nil || status != http.StatusOK || string(members["status"]) != `"ok"` {
			t.Errorf("should say that it is up, and said %d %s", status, body)
		}
		delete(members, "status")
		if len(members) > 0 {
			t.Errorf("should say nothing else, and said %s", body)
		}
	})
}
