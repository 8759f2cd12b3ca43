package mcphttp_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
)

// TestUnreadAnswers checks that an answer counts for its key, wherever it waits: half
// at first, whole when its client does not read, and not at all when it has been read
// or its connection has ended.
func TestUnreadAnswers(t *testing.T) {
	const size = 3 << 20
	ann := []string{"Test-Principal", "ann"}
	call := callBody(1, "big", "", size)
	events := append([]string{"Accept", "text/event-stream"}, ann...)
	batch := append([]string{"MCP-Protocol-Version", mcp.V2025_03_26}, ann...)
	for name, send := range map[string]func(w *world) *http.Response{
		"json": func(w *world) *http.Response {
			return w.stuck(call, append([]string{"Accept", "application/json"}, ann...)...)
		},
		"events": func(w *world) *http.Response { return w.stuck(call, events...) },
		"events of a session": func(w *world) *http.Response {
			return w.stuck(call, append([]string{"Mcp-Session-Id", w.initialize(mcp.V2025_06_18, ann...)}, events...)...)
		},
		"batch": func(w *world) *http.Response { return w.stuck("["+call+"]", batch...) },
		"line": func(w *world) *http.Response {
			resp, err := w.do(w.t.Context(), http.MethodGet, strings.TrimSuffix(w.url, "/mcp")+"/sse", "", ann...)
			if err != nil {
				w.t.Fatal(err)
			}
			var b [1000]byte
			n, _ := resp.Body.Read(b[:])
			_, id, _ := strings.Cut(strings.TrimSpace(string(b[:n])), "sessionId=")
			w.send(http.MethodPost, strings.TrimSuffix(w.url, "/mcp")+"/message?sessionId="+id, call, ann...)
			return resp
		},
	} {
		for _, reads := range []bool{true, false} {
			t.Run(fmt.Sprintf("door/14 %s, read %t", name, reads), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newMemoryWorld(t, mcphttp.ServerLimits{})
					resp := send(w)
					synctest.Wait()
					if n := w.srv.Unfinished("ann"); n < size/2 || n > size/2+10<<10 {
						t.Errorf("%d bytes count at first", n)
					}
					pass(2 * time.Second)
					if n := w.srv.Unfinished("ann"); n < size || n > size+10<<10 {
						t.Errorf("%d bytes count when it is not read", n)
					}
					if !reads {
						pass(30 * time.Second)
					} else if _, err := io.ReadFull(resp.Body, make([]byte, size)); err != nil {
						t.Error(err)
					}
					synctest.Wait()
					if n := w.srv.Unfinished("ann"); n != 0 {
						t.Errorf("%d bytes count at the end", n)
					}
					resp.Body.Close()
					w.close()
				})
			})
		}
	}
}

// TestUnreadQueue checks that messages count that wait behind one that is not read,
// also when the stream is cut off.
func TestUnreadQueue(t *testing.T) {
	const size = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryWorld(t, mcphttp.ServerLimits{})
		resp, err := w.do(t.Context(), http.MethodGet, strings.TrimSuffix(w.url, "/mcp")+"/sse", "", "Test-Principal", "ann")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		big := &jsonrpc.Notification{Method: "notifications/message", Params: []byte(`{"data":"` + strings.Repeat("x", size) + `"}`)}
		for range 8 {
			_ = w.opening(0).Client.Notify(t.Context(), big)
			synctest.Wait()
		}
		pass(2 * time.Second)
		if n := w.srv.Unfinished("ann"); n < 8*size || n > 8*size+10<<10 {
			t.Errorf("%d bytes count", n)
		}
		for range 10 {
			_ = w.opening(0).Client.Notify(t.Context(), big)
		}
		synctest.Wait()
		if n := w.srv.Unfinished("ann"); n != 0 {
			t.Errorf("%d bytes count for a stream that was cut off", n)
		}
		resp.Body.Close()
		w.close()
	})
}

// TestAnswersOfBatch checks that the answers of a batch count while others of it are
// missing.
func TestAnswersOfBatch(t *testing.T) {
	const size = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryWorld(t, mcphttp.ServerLimits{})
		got := make(chan answer)
		go func() {
			got <- w.post("["+callBody(1, "big", "", size)+","+callBody(2, "wait", "x", 0)+"]", "MCP-Protocol-Version", mcp.V2025_03_26, "Test-Principal", "ann")
		}()
		take(t, w.started)
		pass(2 * time.Second)
		if n := w.srv.Unfinished("ann"); n < size || n > size+10<<10 {
			t.Errorf("%d bytes count", n)
		}
		w.release <- struct{}{}
		if a := take(t, got); a.status != http.StatusOK || len(a.body) < size {
			t.Errorf("%d, %d bytes", a.status, len(a.body))
		}
		synctest.Wait()
		if n := w.srv.Unfinished("ann"); n != 0 {
			t.Errorf("%d bytes count at the end", n)
		}
		w.close()
	})
}
