package mcphttp_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcptest/must"
)

// dialSSE opens a legacy HTTP+SSE connection and returns the URL to POST to.
func (w *world) dialSSE(header ...string) (*listening, string) {
	w.t.Helper()
	base := strings.TrimSuffix(w.url, "/mcp")
	old := w.url
	w.url = base + "/sse"
	l := w.listen("", header...)
	w.url = old
	ev, err := l.next()
	if err != nil || ev.Name != "endpoint" || !strings.HasPrefix(string(ev.Data), "/message?sessionId=") {
		w.t.Fatalf("first event %+v, %v", ev, err)
	}
	return l, base + string(ev.Data)
}

func TestSSE(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{})
	l, url := w.dialSSE()
	post := func(body string) {
		t.Helper()
		if a := w.send("POST", url, body); a.status != 202 {
			t.Fatalf("%s: %d %s", body, a.status, a.body)
		}
	}
	post(initializeBody(mcp.V2024_11_05))
	if ev := l.want(`"id":0`, mcp.V2024_11_05); ev.Name != "message" {
		t.Errorf("event %+v", ev)
	}
	post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	take(t, w.notes)
	post(callBody("é", "echo", "hi", 0))
	l.want(`"id":"é"`, `"hi"`)
	post(callBody(2, "notify", "tok", 2))
	l.want(`"progress":0`)
	l.want(`"progress":1`)
	l.want(`"id":2`)
	post(callBody(3, "ask", "really?", 0))
	q, _ := jsonrpc.ScanAnswer(l.want("really?").Data, nil)
	post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"ok":1}}`, q.ID))
	l.want(`"id":3`, `answer:`)
	if err := w.opening(0).Client.Notify(t.Context(), note(1)); err != nil {
		t.Error(err)
	}
	l.want("n1.")
	if o := w.opening(0); o.Transport != mcphttp.TransportSSE {
		t.Errorf("opening %+v", o)
	}
	t.Run("bad messages", func(t *testing.T) {
		post(`hello`)
		l.want("-32700")
	})
	t.Run("strangers", func(t *testing.T) {
		for _, tc := range []struct {
			name, url string
			header    []string
		}{
			{"other principal", url, []string{"Test-Principal", "else"}},
			{"unknown", strings.Split(url, "=")[0] + "=00", nil},
			{"none", strings.Split(url, "?")[0], nil},
			{"streamable", w.url, []string{"Mcp-Session-Id", strings.Split(url, "=")[1]}},
		} {
			if a := w.send("POST", tc.url, callBody(1, "echo", "x", 0), tc.header...); a.status != 404 {
				t.Errorf("%s: %d", tc.name, a.status)
			}
		}
	})
	t.Run("dies with its stream", func(t *testing.T) {
		post(callBody(9, "wait", "x", 0))
		take(t, w.started)
		l.close()
		if err := take(t, w.ended); err == nil {
			t.Error("the call was not cancelled")
		}
		must.Await(t, "the session closed", func() bool { return w.closedSessions() == 1 })
		if a := w.send("POST", url, callBody(1, "echo", "x", 0)); a.status != 404 {
			t.Errorf("afterwards: %d", a.status)
		}
		if err := w.opening(0).Client.Notify(t.Context(), note(1)); err == nil {
			t.Error("Notify succeeded")
		}
	})
}

func TestSSEShutdown(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{})
	l, url := w.dialSSE()
	if a := w.send("POST", url, `{"jsonrpc":"2.0","id":1,"method":"shutdown"}`); a.status != 202 {
		t.Fatalf("%d", a.status)
	}
	l.want(`"id":1`, `"result"`)
	l.wantEnd()
}

func TestSSELimits(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{Sessions: 1})
	l, url := w.dialSSE()
	base := strings.TrimSuffix(w.url, "/mcp")
	if a := w.send("GET", base+"/sse", ""); a.status != 503 {
		t.Errorf("a second one: %d", a.status)
	}
	if a := w.send("GET", base+"/sse", "", "Accept", "text/html"); a.status != 406 {
		t.Errorf("Accept text/html: %d", a.status)
	}
	if a := w.send("POST", url, "x", "Content-Type", "text/plain"); a.status != 415 {
		t.Errorf("text/plain: %d", a.status)
	}
	l.close()
	if _, err := l.r.Next(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("reading a closed stream: %v", err)
	}
}
