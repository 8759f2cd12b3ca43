package mcphttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestPostOutsideSessions(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{})
	for _, accept := range []string{"", "*/*", "application/json", both} {
		a := w.post(callBody(7, "echo", "hi", 0), "Accept", accept)
		if a.status != 200 || a.header.Get("Content-Type") != "application/json" || !strings.Contains(a.body, `"text":"hi"`) {
			t.Errorf("Accept %q: %d %q %s", accept, a.status, a.header, a.body)
		}
		if a.header.Get("Content-Length") != fmt.Sprint(len(a.body)) || a.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("Accept %q: header %v", accept, a.header)
		}
	}
	if o := w.opening(0); o.Transport != mcphttp.TransportPost || o.Client != nil || o.End != nil {
		t.Errorf("opening %+v", o)
	}
	t.Run("a version header does not make a session", func(t *testing.T) {
		a := w.post(callBody(1, "echo", "x", 0), "MCP-Protocol-Version", mcp.V2025_06_18)
		if a.status != 200 || w.opening(-1).Transport != mcphttp.TransportPost {
			t.Errorf("%d %s, %v", a.status, a.body, w.opening(-1).Transport)
		}
	})
	t.Run("notification", func(t *testing.T) {
		a := w.post(`{"jsonrpc":"2.0","method":"notifications/x"}`)
		if a.status != 202 || a.body != "" {
			t.Errorf("%d %q", a.status, a.body)
		}
		if n := take(t, w.notes); n != "notifications/x" {
			t.Errorf("heard %q", n)
		}
	})
	t.Run("corpus/J58", func(t *testing.T) {
		before := w.srv.Stats().Dropped
		if a := w.post(`{"jsonrpc":"2.0","id":1,"result":{}}`); a.status != 202 {
			t.Errorf("status %d", a.status)
		}
		if n := w.srv.Stats().Dropped - before; n != 1 {
			t.Errorf("%d dropped", n)
		}
	})
	t.Run("who cannot be opened", func(t *testing.T) {
		a := w.post(callBody(1, "echo", "x", 0), "Test-Open", "fail")
		if a.status != 404 || a.code() != 404 {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
	t.Run("large", func(t *testing.T) {
		for _, n := range []int{1000, 3000, 100_000, 3_000_000} {
			a := w.post(callBody(strings.Repeat("i", 900), "big", "", n))
			if m := a.message(t); len(m.Result) < n || len(m.ID) != 902 || a.header.Get("Content-Length") != fmt.Sprint(len(a.body)) {
				t.Errorf("%d bytes: result of %d, id of %d, %v", n, len(m.Result), len(m.ID), a.header)
			}
		}
	})
	must.Await(t, "all sessions closed", func() bool { return w.closedSessions() == len(w.openings) })
}

func TestHandlerFailures(t *testing.T) {
	w, id := newSession(t, mcp.V2025_06_18)
	for _, tc := range []struct {
		name, tool string
		code       int
	}{
		{"fault/F13", "panic", -32603},
		{"error", "fail", -32603},
		{"unknown tool", "nope", -32602},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, header := range [][]string{nil, {"Mcp-Session-Id", id}} {
				a := w.post(callBody(1, tc.tool, "", 0), header...)
				if a.status != 200 || a.code() != tc.code || strings.Contains(a.body, "purpose") {
					t.Errorf("%d %s", a.status, a.body)
				}
			}
		})
	}
}

func TestUpgradeToEvents(t *testing.T) {
	w, id := newSession(t, mcp.V2025_06_18)
	t.Run("session", func(t *testing.T) {
		l := w.listen(callBody(5, "notify", "tok", 3), "Mcp-Session-Id", id)
		for i := range 3 {
			ev := l.want(`"progressToken":"tok"`, fmt.Sprintf(`"progress":%d`, i))
			if ev.ID == "" || strings.Contains(string(ev.Data), "\n") {
				t.Errorf("event %+v", ev)
			}
		}
		l.want(`"id":5`, `"notified"`)
		l.wantEnd()
		if l.resp.Header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("header %v", l.resp.Header)
		}
	})
	t.Run("outside sessions", func(t *testing.T) {
		l := w.listen(callBody(5, "notify", "tok", 1))
		if ev := l.want(`"progress":0`); ev.ID != "" {
			t.Errorf("event %+v", ev)
		}
		l.want(`"notified"`)
		l.wantEnd()
	})
	t.Run("corpus/H17", func(t *testing.T) {
		before := w.srv.Stats().Dropped
		a := w.post(callBody(5, "notify", "tok", 4), "Accept", "application/json", "Mcp-Session-Id", id)
		if a.header.Get("Content-Type") != "application/json" || !strings.Contains(a.body, "notified") {
			t.Errorf("%v %s", a.header, a.body)
		}
		if n := w.srv.Stats().Dropped - before; n != 4 {
			t.Errorf("%d dropped, want 4", n)
		}
		if a := w.post(callBody(6, "ask", "?", 0), "Accept", "application/json", "Mcp-Session-Id", id); !strings.Contains(a.body, "accepts no text/event-stream") {
			t.Errorf("%s", a.body)
		}
	})
	t.Run("only events accepted", func(t *testing.T) {
		l := w.listen(callBody(8, "echo", "x", 0), "Accept", "text/event-stream", "Mcp-Session-Id", id)
		l.want(`"id":8`)
		l.wantEnd()
	})
	t.Run("priming", func(t *testing.T) {
		id := w.initialize(mcp.V2025_11_25)
		l := w.listen(callBody(5, "notify", "tok", 1), "Mcp-Session-Id", id)
		ev, err := l.next()
		if err != nil || ev.ID == "" || len(ev.Data) != 0 || ev.Retry == 0 {
			t.Errorf("first event %+v, %v", ev, err)
		}
		l.want(`"progress":0`)
	})
}

func TestQuestionWithinCall(t *testing.T) {
	w, id := newSession(t, mcp.V2025_06_18)
	other := w.initialize(mcp.V2025_06_18)
	for _, tc := range []struct{ answer, want string }{
		{`"result":{"said":"yes"}`, `answer: {\"said\":\"yes\"}`},
		{`"error":{"code":-1,"message":"no"}`, "refused: no"},
	} {
		l := w.listen(callBody(5, "ask", "really?", 0), "Mcp-Session-Id", id)
		q := l.question("elicitation/create", "really?")
		reply := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, q.ID, tc.answer)
		if a := w.post(reply, "Mcp-Session-Id", other); a.status != 202 {
			t.Errorf("foreign answer: %d", a.status)
		}
		if a := w.post(reply, "Mcp-Session-Id", id); a.status != 202 || a.body != "" {
			t.Errorf("%d %q", a.status, a.body)
		}
		l.want(`"id":5`, tc.want)
		l.wantEnd()
	}
	if n := w.srv.Stats().Dropped; n != 2 {
		t.Errorf("%d dropped, want the 2 foreign answers", n)
	}
	if a := w.post(callBody(5, "ask", "?", 0), "Accept", both); !strings.Contains(a.body, "no session") {
		t.Errorf("outside sessions: %s", a.body)
	}
}

// inBackground sends a POST and delivers its response.
func (w *world) inBackground(ctx context.Context, body string, header ...string) <-chan answer {
	ch := make(chan answer, 1)
	go func() {
		defer close(ch)
		resp, err := w.do(ctx, http.MethodPost, w.url, body, header...)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		ch <- answer{resp.StatusCode, resp.Header, string(b)}
	}()
	return ch
}

func TestCancel(t *testing.T) {
	w, id := newSession(t, mcp.V2025_06_18)
	other := w.initialize(mcp.V2025_06_18)
	cancel := func(session, requestID string) {
		t.Helper()
		a := w.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+requestID+`}}`, "Mcp-Session-Id", session)
		if a.status != 202 {
			t.Errorf("cancel: %d %s", a.status, a.body)
		}
		take(t, w.notes)
	}
	t.Run("true/15 a cancelled POST has a JSON answer", func(t *testing.T) {
		ch := w.inBackground(t.Context(), callBody("a", "wait", "one", 0), "Mcp-Session-Id", id)
		take(t, w.started)
		for _, miss := range []string{`"b"`, `1`, `null`, `{}`} {
			cancel(id, miss)
		}
		cancel(other, `"a"`)
		select {
		case err := <-w.ended:
			t.Fatalf("ended by a cancel of something else: %v", err)
		default:
		}
		cancel(id, `"a"`)
		if err := take(t, w.ended); !errors.Is(err, jsonrpc.ErrCancelled) {
			t.Errorf("cause %v", err)
		}
		a := take(t, ch)
		if reason, _ := jsonrpc.GetString([]byte(a.body), "error", "data", "reason"); a.status != 200 || a.header.Get("Content-Type") != "application/json" || reason != "cancelled" {
			t.Errorf("status %d of type %q: %s", a.status, a.header.Get("Content-Type"), a.body)
		}
		if id, _ := jsonrpc.GetString([]byte(a.body), "id"); id != "a" {
			t.Errorf("the answer is to %q: %s", id, a.body)
		}
	})
	t.Run("events", func(t *testing.T) {
		l := w.listen(callBody(3, "wait", "two", 1), "Mcp-Session-Id", id)
		l.want(`"progress":0`)
		cancel(id, "3")
		l.wantEnd()
		take(t, w.ended)
	})
}

func TestDuplicateID(t *testing.T) {
	w, id := newSession(t, mcp.V2025_06_18)
	t.Run("corpus/J35", func(t *testing.T) {
		ch := w.inBackground(t.Context(), callBody(1, "wait", "first", 0), "Mcp-Session-Id", id)
		take(t, w.started)
		if a := w.post(callBody(1, "echo", "second", 0), "Mcp-Session-Id", id); a.code() != -32600 || !strings.Contains(a.body, "duplicate id") {
			t.Errorf("%s", a.body)
		}
		if a := w.post(callBody("1", "echo", "corpus/J36", 0), "Mcp-Session-Id", id); a.code() != 0 {
			t.Errorf("%s", a.body)
		}
		w.release <- struct{}{}
		if a := take(t, ch); a.status != 200 {
			t.Errorf("first: %d", a.status)
		}
		if a := w.post(callBody(1, "echo", "again", 0), "Mcp-Session-Id", id); a.code() != 0 {
			t.Errorf("after it was answered: %s", a.body)
		}
	})
}

func TestInFlightLimitBlocks(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{InFlight: 4})
	id := w.initialize(mcp.V2025_06_18)
	var all []<-chan answer
	for i := range 10 {
		all = append(all, w.inBackground(t.Context(), callBody(i, "wait", "x", 0), "Mcp-Session-Id", id))
	}
	for range 4 {
		take(t, w.started)
	}
	must.Await(t, "ten in flight", func() bool { return w.srv.Sessions()[0].InFlight == 10 })
	// Notifications and responses still get through.
	if a := w.post(`{"jsonrpc":"2.0","method":"notifications/x"}`, "Mcp-Session-Id", id); a.status != 202 {
		t.Errorf("notification: %d", a.status)
	}
	if n := len(w.started); n != 0 {
		t.Errorf("%d more than the limit run", n)
	}
	for range 10 {
		w.release <- struct{}{}
	}
	for i, ch := range all {
		if a := take(t, ch); a.status != 200 {
			t.Errorf("call %d: %d", i, a.status)
		}
	}
}

func TestDisconnect(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{})
	for _, tc := range []struct {
		name    string
		header  []string
		body    string
		cancels bool
	}{
		{"post", nil, callBody(1, "wait", "x", 0), true},
		{"modern", modernHeader("tools/call", "wait"), modernCall(1, "wait", "x", 0), true},
		{"modern with events", modernHeader("tools/call", "wait"), modernCall(1, "wait", "x", 1), true},
		{"session", []string{"Mcp-Session-Id", w.initialize(mcp.V2025_11_25)}, callBody(1, "wait", "x", 0), false},
	} {
		t.Run("fault/F14/"+tc.name, func(t *testing.T) {
			ctx, hangUp := context.WithCancel(t.Context())
			ch := w.inBackground(ctx, tc.body, append([]string{"Accept", both}, tc.header...)...)
			take(t, w.started)
			hangUp()
			for range ch {
			}
			if tc.cancels {
				if err := take(t, w.ended); !strings.Contains(err.Error(), "closed the connection") && !errors.Is(err, jsonrpc.ErrCancelled) {
					t.Errorf("cause %v", err)
				}
			} else {
				w.release <- struct{}{}
			}
			must.Await(t, "nothing in flight", func() bool { return w.srv.Stats().InFlight == 0 })
			if len(w.ended) != 0 {
				t.Error("a session's call was cancelled by a disconnect")
			}
		})
	}
}

func TestBatch(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{})
	old, newer := w.initialize(mcp.V2025_03_26), w.initialize(mcp.V2025_06_18)
	ping := func(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id) }
	many := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, ping(i))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	pong := func(id string) string { return `{"jsonrpc":"2.0","result":{},"id":` + id + `}` }
	const note = `{"jsonrpc":"2.0","method":"notifications/x"}`
	for _, tc := range []struct {
		name, session, body string
		status, code        int
		want                string
	}{
		{"outside sessions", "", "[" + ping(1) + "," + note + "," + ping(2) + "]", 200, 0, "[" + pong("1") + "," + pong("2") + "]"},
		{"2025-03-26", old, " [" + ping(1) + "]", 200, 0, "[" + pong("1") + "]"},
		{"corpus/J09", newer, many(2), 400, -32600, ""},
		{"corpus/J10/50", old, many(50), 200, 0, ""},
		{"corpus/J10/51", old, many(51), 400, -32600, ""},
		{"corpus/J11", old, "[" + initializeBody(mcp.V2025_03_26) + "]", 400, -32600, ""},
		{"corpus/J08", "", "[]", 400, -32600, ""},
		{"bad element", "", `[{"jsonrpc":"2.0","id":4},` + ping(5) + `]`, 200, 0, ""},
		{"notifications only", old, "[" + note + "," + note + "]", 202, 0, ""},
		{"modern element", "", "[" + modernCall(1, "echo", "x", 0) + "]", 400, -32600, ""},
		{"same id twice", old, "[" + callBody(1, "wait", "dup", 0) + "," + callBody(1, "wait", "dup", 0) + "]", 200, 0, "duplicate id"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var header []string
			if tc.session != "" {
				header = []string{"Mcp-Session-Id", tc.session}
			}
			w.release <- struct{}{}
			a := w.post(tc.body, header...)
			for len(w.release) > 0 {
				<-w.release
			}
			if a.status != tc.status || a.code() != tc.code || !strings.Contains(a.body, tc.want) {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	t.Run("events", func(t *testing.T) {
		l := w.listen("["+callBody(1, "notify", "x", 1)+","+ping(2)+"]", "Mcp-Session-Id", old)
		l.want(`"progress":0`)
		l.want(`[{"jsonrpc"`, `"notified"`, `"id":1}`, `"id":2}`)
		l.wantEnd()
	})
}

func TestManyClientsWithTheSameIDs(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{})
	var all sync.WaitGroup
	for c := range 16 {
		all.Go(func() {
			id := w.initialize(mcp.V2025_11_25)
			for i := range 50 {
				word := fmt.Sprintf("%d/%d", c, i)
				if a := w.post(callBody(i, "echo", word, 0), "Mcp-Session-Id", id); !strings.Contains(a.body, `"`+word+`"`) {
					t.Errorf("%s: %s", word, a.body)
				}
			}
		})
	}
	all.Wait()
}
