package mcphttp_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
)

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryWorld(t, mcphttp.ServerLimits{})
		id := w.initialize(mcp.V2025_06_18)
		stream := w.listen("", "Mcp-Session-Id", id)
		listen := w.listen(modernRequest("subscriptions/listen", ""), modernHeader("subscriptions/listen", "")...)
		listen.want("acknowledged")
		take(t, w.started)
		sse, url := w.dialSSE()
		w.send("POST", url, callBody(1, "wait", "sse", 0))
		take(t, w.started)
		quick := w.inBackground(t.Context(), callBody(1, "wait", "quick", 0), "Mcp-Session-Id", id)
		take(t, w.started)
		slow := w.inBackground(t.Context(), callBody(2, "wait", "slow", 0), "Mcp-Session-Id", id)
		take(t, w.started)
		asking := w.listen(callBody(3, "ask", "still there?", 0), "Mcp-Session-Id", id)
		asking.want("still there?")

		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		drained := make(chan time.Duration, 1)
		begun := time.Now()
		go func() {
			w.srv.Drain(ctx)
			drained <- time.Since(begun)
		}()
		stream.wantEnd()
		listen.want(`"result"`)
		listen.wantEnd()

		for name, a := range map[string]answer{
			"initialize": w.post(initializeBody(mcp.V2025_06_18)),
			"post":       w.post(callBody(1, "echo", "x", 0)),
			"GET":        w.send("GET", w.url, "", "Mcp-Session-Id", id, "Accept", both),
			"SSE":        w.send("GET", strings.TrimSuffix(w.url, "/mcp")+"/sse", ""),
		} {
			if a.status != 503 || !strings.Contains(a.body, `"reason":"draining"`) {
				t.Errorf("%s while draining: %d %s", name, a.status, a.body)
			}
		}
		if a := w.post(callBody(9, "echo", "x", 0), "Mcp-Session-Id", id); a.status != 200 || !strings.Contains(a.body, `"reason":"draining"`) {
			t.Errorf("request in a session while draining: %d %s", a.status, a.body)
		}
		// Responses for calls in flight are still accepted.
		if a := w.post(`{"jsonrpc":"2.0","id":1,"result":{}}`, "Mcp-Session-Id", id); a.status != 202 {
			t.Errorf("answer while draining: %d", a.status)
		}
		asking.want("answer: {}")
		asking.wantEnd()

		w.release <- struct{}{}
		w.release <- struct{}{}
		finished := 0
		for _, ch := range []<-chan answer{quick, slow} {
			a := take(t, ch)
			switch {
			case a.status == 200 && strings.Contains(a.body, "released"):
				finished++
			case a.status != 200 || !strings.Contains(a.body, `"reason":"cancelled","retryable":false`):
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		if took := take(t, drained); took < 30*time.Second || took > 36*time.Second {
			t.Errorf("drained after %v", took)
		}
		if ev := sse.want(`"id":1`); strings.Contains(string(ev.Data), "released") {
			finished++
		} else if !strings.Contains(string(ev.Data), `"reason":"cancelled","retryable":false`) {
			t.Errorf("%s", ev.Data)
		}
		sse.wantEnd()
		if finished != 2 {
			t.Errorf("%d calls finished, 2 were released", finished)
		}
		w.close()
	})
}

// TestDrainAnswersStreams checks that a call that still runs at the end of a drain
// gets its response, on whatever transport, before its stream ends.
func TestDrainAnswersStreams(t *testing.T) {
	t.Run("fault/T09", func(t *testing.T) { synctest.Test(t, drainAnswersStreams) })
}

func drainAnswersStreams(t *testing.T) {
	hits := new(config.Hits)
	w := newMemoryWorld(t, mcphttp.ServerLimits{Hits: hits})
	id := w.initialize(mcp.V2025_06_18)
	sse, url := w.dialSSE()
	for i := range 3 {
		w.send("POST", url, callBody(i, "wait", "sse", i))
		take(t, w.started)
	}
	sse.want("progress")
	sse.want("progress")
	session := w.listen(callBody(7, "wait", "session", 1), "Mcp-Session-Id", id)
	session.want("progress")
	take(t, w.started)
	modern := w.listen(modernCall(8, "wait", "modern", 1), modernHeader("tools/call", "wait")...)
	modern.want("progress")
	take(t, w.started)

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	go func() {
		w.srv.Drain(ctx)
		w.srv.Close()
	}()
	got := make(map[string]bool)
	for range 3 {
		m, _ := jsonrpc.ScanAnswer(sse.want(`"reason":"cancelled","retryable":false`, `-32603`).Data, nil)
		got[string(m.ID)] = true
	}
	if len(got) != 3 {
		t.Errorf("answered: %v", got)
	}
	sse.wantEnd()
	session.want(`"id":7`, `"reason":"cancelled","retryable":false`, `-32603`)
	session.wantEnd()
	modern.want(`"id":8`, `"reason":"cancelled","retryable":false`, `-32603`)
	modern.wantEnd()
	if n := hitsOf(hits, "drain"); n != 5 {
		t.Errorf("%d calls are counted", n)
	}
	w.close()
}

func hitsOf(hits *config.Hits, limit string) int64 {
	for _, hit := range hits.List() {
		if hit.Limit == limit {
			return hit.Count
		}
	}
	return -1
}

func TestDrainOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryWorld(t, mcphttp.ServerLimits{})
		w.initialize(mcp.V2025_06_18)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		w.srv.Drain(ctx)
		w.srv.Drain(ctx)
		if took := time.Since(begun); took != 0 {
			t.Errorf("took %v", took)
		}
		w.close()
	})
}

// TestCloseWaitsForLeavers checks that every handler is closed when Close returns,
// even for sessions that end at that moment because their clients disconnect.
func TestCloseWaitsForLeavers(t *testing.T) {
	for range 30 {
		w := newWorld(t, mcphttp.ServerLimits{})
		var leaving sync.WaitGroup
		for range 4 {
			l, _ := w.dialSSE()
			leaving.Go(l.close)
		}
		w.srv.Close()
		w.mu.Lock()
		opened, closed := len(w.openings), w.closed
		w.mu.Unlock()
		if opened != closed {
			t.Fatalf("%d sessions were opened, and %d were closed when Close returned", opened, closed)
		}
		leaving.Wait()
		w.close()
	}
}
