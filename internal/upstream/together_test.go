package upstream_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/upstream"
)

// named returns a client that answers every form with its own name.
func named(name string) (*upstream.Caller, *replier) {
	r := newReplier()
	r.answers[mcp.MethodElicit] = fmt.Sprintf(`{"action":"accept","content":{"name":%q}}`, name)
	return session(name, mcp.Offer{Elicit: true}), r
}

// TestFirstQuestionsTogether lets several clients call tools that ask, all at
// once, before the server has asked anything.
func TestFirstQuestionsTogether(t *testing.T) {
	for round := range 5 {
		for _, tt := range []struct {
			name  string
			ready bool // the server has started before the calls
			used  bool // the clients have listed its tools
			delay string
		}{{"at a running server", true, false, "0"}, {"after the lists", true, true, "0"}, {"while it starts", false, false, "0"}, {"while it starts slowly", false, false, "2s"}} {
			if round > 0 && tt.delay != "0" {
				continue
			}
			t.Run(fmt.Sprintf("true/3 over a pipe first questions %s reach their clients %d", tt.name, round), func(t *testing.T) {
				w := newWorld(t, worldOptions{}, fake(t, "a", "-era", "legacy", "-delay", tt.delay))
				if tt.ready {
					w.state("a", upstream.Ready)
				}
				var all sync.WaitGroup
				for i := range 4 {
					name := fmt.Sprint("client", i)
					c, r := named(name)
					t.Cleanup(c.Close)
					if tt.used {
						must.OK(t, w.up("a").Prepare(t.Context(), c))
					}
					all.Go(func() {
						if text, err := w.ask(c, r, "a", "ask_name", `{}`); text != "Hello, "+name+"!" {
							t.Errorf("%s: %q, %v", name, text, err)
						}
					})
				}
				all.Wait()
			})
		}
	}
}

// TestAskingServerIsRemembered checks that the first question is enough to give
// later clients their own connections, also if that question was answered.
func TestAskingServerIsRemembered(t *testing.T) {
	w := newWorld(t, worldOptions{}, fake(t, "a", "-era", "legacy"))
	w.state("a", upstream.Ready)
	for i, connections := range []int{1, 2} {
		c, r := named(fmt.Sprint("client", i))
		t.Cleanup(c.Close)
		if text, err := w.ask(c, r, "a", "ask_name", `{}`); err != nil || len(r.asked) != 1 {
			t.Errorf("%q, %v", text, err)
		}
		if n := w.up("a").Status().Connections; n != connections {
			t.Errorf("%d connections, not %d", n, connections)
		}
	}
}

// TestAskingAfterFailure lets the first call of a client fail because the server is
// down. A call that was not sent does not bind the client to the shared connection.
func TestAskingAfterFailure(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	entry := fake(t, "a")
	entry.Args = []string{"-c", `test -e "$1" && exec "$2" -era legacy`, "sh", there, entry.Command}
	entry.Command = "sh"
	w := newWorld(t, worldOptions{}, entry)
	w.await("down", "a", func(s upstream.Status) bool { return s.State == upstream.Failed || s.State == upstream.Restarting })
	late, r := named("late")
	t.Cleanup(late.Close)
	if text, err := w.ask(late, r, "a", "ask_name", `{}`); err == nil {
		t.Fatalf("a server that is down: %q", text)
	}
	must.Write(t, there, "")
	w.up("a").Restart()
	w.state("a", upstream.Ready)
	first, other := named("first")
	t.Cleanup(first.Close)
	for _, c := range []struct {
		*upstream.Caller
		*replier
		name string
	}{{first, other, "first"}, {late, r, "late"}} {
		if text, err := w.ask(c.Caller, c.replier, "a", "ask_name", `{}`); text != "Hello, "+c.name+"!" {
			t.Errorf("%q, %v", text, err)
		}
	}
	if n := w.up("a").Status().Connections; n != 2 {
		t.Errorf("true/3: %d connections, not 2", n)
	}
}
