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

// note is a resource that only the template of the recorder makes.
const note = "memos://demo/1"

// A hearing is a client that has subscribed to resources.
type hearing struct {
	session
	events *mcptest.Events
}

// hear subscribes to the resource and the note, and opens the stream on which
// their updates arrive.
func (w *world) hear(as, path string, e era) *hearing {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(cancel)
	s, ok := w.streamable(path, as, e).(*streamable)
	if !ok {
		w.t.Fatal("the session does not open")
	}
	method, header, body := http.MethodGet, s.header.Clone(), []byte(nil)
	if e == modern {
		method = http.MethodPost
		header.Set("Mcp-Method", mcp.MethodListen)
		body = request(1, mcp.MethodListen, map[string]any{"notifications": map[string]any{"resourceSubscriptions": []string{uri, note}}}, modern)
	} else {
		for _, uri := range []string{uri, note} {
			if a := s.ask(mcp.MethodSubscribe, map[string]any{"uri": uri}, nil); a.reason != let {
				w.t.Fatalf("subscribing to %s: %v", uri, a)
			}
		}
	}
	resp, err := w.send(ctx, method, path, as, header, body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("the stream: %v %v", resp, err)
	}
	w.t.Cleanup(func() { resp.Body.Close() })
	h := &hearing{s, mcptest.NewEvents(resp.Body)}
	if e == modern {
		h.next(mcp.NotificationListening)
	}
	return h
}

// next returns the next message with a method; "" at the end of the stream.
func (h *hearing) next(method string) string {
	for e := h.events.Next(); e != nil; e = h.events.Next() {
		if strings.Contains(e.Data, `"`+method+`"`) {
			return e.Data
		}
	}
	return ""
}

// TestSubscriptionKeepsToPolicies checks that a subscriber hears of a resource
// only while it may read it, also after a reload.
func TestSubscriptionKeepsToPolicies(t *testing.T) {
	t.Parallel()
	for path, name := range map[string]string{"/mcp": server + "__" + tool, "/s/" + server + "/mcp": tool} {
		for _, e := range both {
			hearsWhatItReads(t, path, name, e)
		}
	}
}

// hearsWhatItReads checks one subscriber. name is the tool as it knows it.
func hearsWhatItReads(t *testing.T, path, name string, e era) {
	w := newWorld(t, map[string][]string{keyAnn: nil, keyAdmin: {"admin"}})
	entry := func(more map[string]any) map[string]any {
		return map[string]any{"mcpServers": map[string]any{server: w.entry(server, more)}}
	}
	w.start(entry(nil))
	h := w.hear(keyAnn, path, e)
	for _, tt := range []struct {
		name    string
		entry   map[string]any
		touched [2]string
		heard   int // how many of them
	}{
		{"on", nil, [2]string{uri, note}, 2},
		{"a resource is off", map[string]any{"resources": off(uri)}, [2]string{uri, note}, 1},
		{"on again", nil, [2]string{note, uri}, 2},
		{"a template is off", map[string]any{"resources": off(template)}, [2]string{note, uri}, 1},
	} {
		t.Run(fmt.Sprintf("door/3 %v %s %s", e, path, tt.name), func(t *testing.T) {
			w.settings = entry(tt.entry)
			w.reload()
			// If one of the two is off, it comes first: updates arrive in order.
			for i, uri := range tt.touched {
				if a := callTool(h, name)(target{arguments: map[string]any{"text": updated + uri}}); a.reason != let {
					t.Fatal(a)
				}
				if a := h.ask(mcp.MethodResourcesRead, map[string]any{"uri": uri}, nil); (a.reason == let) != (i >= 2-tt.heard) {
					t.Errorf("reading %s: %v", uri, a)
				}
			}
			for _, uri := range tt.touched[2-tt.heard:] {
				if got := h.next(mcp.NotificationUpdated); !strings.Contains(got, `"`+uri+`"`) {
					t.Fatalf("the next update is of %s, want %s", got, uri)
				}
			}
		})
	}
}

// TestSubscriptionOutlivesServer checks that a client stays subscribed when a reload
// replaces the server or switches it off and on, and hears that what it subscribed to may
// have changed.
func TestSubscriptionOutlivesServer(t *testing.T) {
	t.Parallel()
	for _, e := range both {
		w := newWorld(t, map[string][]string{keyAnn: nil, keyAdmin: {"admin"}})
		reload := func(more map[string]any) {
			w.settings = map[string]any{"mcpServers": map[string]any{server: w.entry(server, more)}}
			w.reload()
		}
		w.start(map[string]any{"mcpServers": map[string]any{server: w.entry(server, nil)}})
		h := w.hear(keyAnn, "/mcp", e)
		both := func(why string) {
			t.Helper()
			heard := h.next(mcp.NotificationUpdated) + h.next(mcp.NotificationUpdated)
			if !strings.Contains(heard, `"`+uri+`"`) || !strings.Contains(heard, `"`+note+`"`) {
				t.Fatalf("door/3 %v %s: heard %s", e, why, heard)
			}
		}
		touch := func() {
			t.Helper()
			for _, uri := range []string{uri, note} {
				if a := callTool(h, server+"__"+tool)(target{arguments: map[string]any{"text": updated + uri}}); a.reason != let {
					t.Fatal(a)
				}
			}
		}
		touch()
		both("before")
		reload(map[string]any{envPrefix + "SETTING": "1"})
		both("replaced")
		touch()
		both("after it was replaced")
		for _, off := range []string{"disabled", "enabled"} {
			reload(map[string]any{off: off == "disabled"})
			if a := callTool(h, server+"__"+tool)(target{arguments: map[string]any{"text": "off"}}); a.reason == let {
				t.Fatalf("door/3 %s: %v", off, a)
			}
			reload(nil)
			both("on again")
			touch()
			both("after it was on again")
		}
		reload(map[string]any{"command": "/does/not/exist"})
		w.until("the server fails", func() bool {
			return callTool(h, server+"__"+tool)(target{arguments: map[string]any{"text": "off"}}).reason != let
		})
		reload(nil)
		both("mended")
		touch()
		both("after it was mended")
	}
}

// TestTemplateKeepsToItsURIs checks that what a template makes cannot be had by
// another template of the server while the first one is off.
func TestTemplateKeepsToItsURIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil, keyAdmin: {"admin"}})
	w.start(map[string]any{"mcpServers": map[string]any{server: w.entry(server, map[string]any{envFiles: "1", "resources": off("file:///private/{path}")})}})
	for _, path := range []string{"/mcp", "/s/" + server + "/mcp"} {
		for _, e := range both {
			s := w.streamable(path, keyAnn, e)
			for uri, want := range map[string]string{
				"file:///public/key": let, "file:///public/a%20b": let,
				"file:///private/key": notFound, "file:///public/../private/key": notFound, "file:///public/..%2Fprivate/key": notFound,
				"file:///public/..%2fprivate%2fkey": notFound, "file:///public/%2e%2e%2fprivate%2fkey": notFound, "file:///public/..%252fprivate%252fkey": notFound,
			} {
				methods := []string{mcp.MethodResourcesRead}
				if e == legacy {
					methods = append(methods, mcp.MethodSubscribe)
				}
				for _, method := range methods {
					t.Run(fmt.Sprintf("door/16 %v %s %s %s", e, path, method, uri), func(t *testing.T) {
						if a := s.ask(method, map[string]any{"uri": uri}, nil); a.reason != want {
							t.Errorf("got %v, want %v", a, want)
						}
					})
				}
			}
		}
	}
}
