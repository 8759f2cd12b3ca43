package mcphttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcptest/must"
)

func note(i int) *jsonrpc.Notification {
	return &jsonrpc.Notification{Method: "notifications/message", Params: fmt.Appendf(nil, `{"data":"n%d."}`, i)}
}

func TestOutsideCalls(t *testing.T) {
	w, id := newSession(t, mcp.V2025_06_18)
	client := w.opening(0).Client
	t.Run("waits for a stream", func(t *testing.T) {
		for i := range 3 {
			must.OK(t, client.Notify(t.Context(), note(i)))
		}
		l := w.listen("", "Mcp-Session-Id", id)
		for i := range 3 {
			l.want(fmt.Sprintf("n%d.", i))
		}
		_ = client.Notify(t.Context(), note(3))
		l.want("n3.")
		l.close()
		must.Await(t, "the stream gone", func() bool { return w.srv.Sessions()[0].Streams == 0 })
	})
	t.Run("question", func(t *testing.T) {
		l := w.listen("", "Mcp-Session-Id", id)
		type outcome struct {
			resp *jsonrpc.Response
			err  error
		}
		ch := make(chan outcome, 1)
		go func() {
			resp, err := client.Call(t.Context(), &jsonrpc.Request{Method: "roots/list"})
			ch <- outcome{resp, err}
		}()
		q := l.question("roots/list")
		w.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}`, q.ID), "Mcp-Session-Id", id)
		if o := take(t, ch); o.err != nil || string(o.resp.Result) != `{"roots":[]}` {
			t.Errorf("%+v", o)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			resp, err := client.Call(ctx, &jsonrpc.Request{Method: "roots/list"})
			ch <- outcome{resp, err}
		}()
		l.want("roots/list")
		cancel()
		if o := take(t, ch); !errors.Is(o.err, context.Canceled) {
			t.Errorf("%+v", o)
		}
		l.want("notifications/cancelled", `"requestId":2`)
		l.close()
		must.Await(t, "the stream gone", func() bool { return w.srv.Sessions()[0].Streams == 0 })
	})
	t.Run("corpus/H33", func(t *testing.T) {
		a, b := w.listen("", "Mcp-Session-Id", id), w.listen("", "Mcp-Session-Id", id)
		seen := make(chan string, 100)
		for _, l := range []*listening{a, b} {
			go func() {
				for {
					ev, err := l.r.Next()
					if err != nil {
						return
					}
					seen <- string(ev.Data)
				}
			}()
		}
		got := make(map[string]int)
		for i := range 50 {
			_ = client.Notify(t.Context(), note(i))
			got[take(t, seen)]++
		}
		if len(got) != 50 || len(seen) != 0 {
			t.Errorf("%d different messages, %d more; want each exactly once", len(got), len(seen))
		}
		a.close()
		b.close()
		must.Await(t, "the streams gone", func() bool { return w.srv.Sessions()[0].Streams == 0 })
	})
	t.Run("after the end", func(t *testing.T) {
		w.send("DELETE", w.url, "", "Mcp-Session-Id", id)
		if err := client.Notify(t.Context(), note(0)); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("Notify: %v", err)
		}
		if _, err := client.Call(t.Context(), &jsonrpc.Request{Method: "ping"}); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("Call: %v", err)
		}
	})
}

func TestQueueDropsOldest(t *testing.T) {
	for _, lim := range []mcphttp.ServerLimits{{QueueMessages: 10}, {QueueBytes: 9 * len(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"n10."}}`)}} {
		w := newWorld(t, lim)
		id := w.initialize(mcp.V2025_06_18)
		for i := range 90 {
			_ = w.opening(0).Client.Notify(t.Context(), note(i+10))
		}
		if s := w.srv.Stats(); s.Dropped != 80 || w.srv.Sessions()[0].Queued != 10 {
			t.Errorf("%+v, %d queued", s, w.srv.Sessions()[0].Queued)
		}
		l := w.listen("", "Mcp-Session-Id", id)
		l.want("n90.")
		l.close()
	}
}

func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryWorld(t, mcphttp.ServerLimits{})
		id := w.initialize(mcp.V2025_06_18)
		comments := func(l *listening, within time.Duration) (n int) {
			r := bufio.NewReader(l.resp.Body)
			stop := time.AfterFunc(within, l.close)
			defer stop.Stop()
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return n
				}
				if strings.HasPrefix(line, ":") {
					n++
				}
			}
		}
		if n := comments(w.listen("", "Mcp-Session-Id", id), 130*time.Second); n < 5 || n > 6 {
			t.Errorf("%d keep-alives on a GET stream in 130 s", n)
		}
		modern := w.listen(modernRequest("subscriptions/listen", ""), modernHeader("subscriptions/listen", "")...)
		if n := comments(modern, 130*time.Second); n < 5 || n > 6 {
			t.Errorf("%d keep-alives on a listen stream in 130 s", n)
		}
		// A long call without output becomes a stream.
		if n := comments(w.listen(callBody(1, "wait", "x", 0), "Mcp-Session-Id", id), 130*time.Second); n < 4 || n > 6 {
			t.Errorf("%d keep-alives on a silent call in 130 s", n)
		}
		w.release <- struct{}{}
		w.close()
	})
}

func TestSilentCallAcceptsOnlyJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryWorld(t, mcphttp.ServerLimits{})
		ch := w.inBackground(t.Context(), callBody(1, "wait", "x", 0), "Accept", "application/json")
		take(t, w.started)
		pass(3 * time.Minute)
		w.release <- struct{}{}
		if a := take(t, ch); a.header.Get("Content-Type") != "application/json" || !strings.Contains(a.body, "released") {
			t.Errorf("%v %s", a.header, a.body)
		}
		w.close()
	})
}

// stuck opens a stream and never reads it.
func (w *world) stuck(body string, header ...string) *http.Response {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	resp, err := w.do(context.Background(), method, w.url, body, append([]string{"Accept", both}, header...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp
}

func TestSlowReaders(t *testing.T) {
	t.Run("corpus/H48", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newMemoryWorld(t, mcphttp.ServerLimits{})
			id := w.initialize(mcp.V2025_06_18)
			resp := w.stuck("", "Mcp-Session-Id", id)
			big := &jsonrpc.Notification{Method: "notifications/message", Params: []byte(`{"data":"` + strings.Repeat("x", 100<<10) + `"}`)}
			for range 4 {
				_ = w.opening(0).Client.Notify(t.Context(), big)
			}
			pass(29 * time.Second)
			if n := w.srv.Sessions()[0].Streams; n != 1 {
				t.Errorf("%d streams after 29 s", n)
			}
			pass(2 * time.Second)
			if n := w.srv.Sessions()[0].Streams; n != 0 {
				t.Errorf("%d streams after 31 s", n)
			}
			resp.Body.Close()
			w.close()
		})
	})
	t.Run("fault/P9", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			hits := new(config.Hits)
			w := newMemoryWorld(t, mcphttp.ServerLimits{QueueMessages: 20, Hits: hits})
			id := w.initialize(mcp.V2025_06_18)
			resp := w.stuck("", "Mcp-Session-Id", id)
			big := &jsonrpc.Notification{Method: "notifications/message", Params: []byte(`{"data":"` + strings.Repeat("x", 100<<10) + `"}`)}
			for range 50 {
				_ = w.opening(0).Client.Notify(t.Context(), big)
				synctest.Wait()
			}
			if n := w.srv.Sessions()[0].Streams; n != 0 {
				t.Errorf("%d streams with a full queue", n)
			}
			if s := w.srv.Stats(); s.CutOff == 0 || s.Dropped == 0 {
				t.Errorf("%+v", s)
			}
			if n := hitsOf(hits, "outboundMessages"); n == 0 {
				t.Error("nothing is counted")
			}
			resp.Body.Close()
			w.close()
		})
	})
	t.Run("call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newMemoryWorld(t, mcphttp.ServerLimits{})
			// 100,000 notifications to a client that does not read must not block the
			// handler.
			resp, err := w.do(t.Context(), http.MethodPost, w.url, modernCall(1, "notify", strings.Repeat("t", 1000), 100_000),
				append([]string{"Accept", both}, modernHeader("tools/call", "notify")...)...)
			synctest.Wait()
			if n := w.srv.Stats().InFlight; n != 0 {
				t.Errorf("%d in flight", n)
			}
			if s := w.srv.Stats(); s.CutOff != 1 {
				t.Errorf("%+v", s)
			}
			if err == nil { // otherwise it was cut off before it began: with one processor the handler runs first
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			if err == nil {
				t.Error("the stream that was cut off ended cleanly")
			}
			w.close()
		})
	})
	t.Run("plain", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newMemoryWorld(t, mcphttp.ServerLimits{})
			resp := w.stuck(callBody(1, "big", "", 2_000_000))
			pass(29 * time.Second)
			if n := w.srv.Stats().InFlight; n != 1 {
				t.Errorf("%d in flight after 29 s", n)
			}
			pass(2 * time.Second)
			if n := w.srv.Stats().InFlight; n != 0 {
				t.Errorf("%d in flight after 31 s", n)
			}
			resp.Body.Close()
			w.close()
		})
	})
}

func TestSlowBodies(t *testing.T) {
	for _, tc := range []struct {
		name  string
		every time.Duration // between two bytes of the body
	}{
		{"corpus/H40", time.Hour},
		{"fault/T22", 5 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newMemoryWorld(t, mcphttp.ServerLimits{})
				conn, err := w.tr.DialContext(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprint(conn, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{")
				done := make(chan struct{})
				go func() {
					for {
						select {
						case <-time.After(tc.every):
							if _, err := conn.Write([]byte(" ")); err != nil {
								return
							}
						case <-done:
							return
						}
					}
				}()
				begun := time.Now()
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begun); resp.StatusCode != 408 || took > 31*time.Second {
					t.Errorf("%d after %v", resp.StatusCode, took)
				}
				close(done)
				conn.Close()
				w.close()
			})
		})
	}
	t.Run("corpus/H41", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newMemoryWorld(t, mcphttp.ServerLimits{})
			conn, err := w.tr.DialContext(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(conn, "POST /mcp HTTP/1.1\r\nHost:")
			begun := time.Now()
			_, _ = io.Copy(io.Discard, conn)
			if took := time.Since(begun); took > 11*time.Second {
				t.Errorf("closed after %v", took)
			}
			conn.Close()
			w.close()
		})
	})
}

func TestHeaderLimit(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{})
	t.Run("corpus/H43", func(t *testing.T) {
		a, err := w.raw("POST /mcp HTTP/1.1\r\nHost: x\r\nX-Large: "+strings.Repeat("x", 80<<10)+"\r\n\r\n", false)
		if err != nil || a.status != 431 {
			t.Errorf("%d, %v", a.status, err)
		}
	})
	t.Run("corpus/H29", func(t *testing.T) {
		a := w.post(callBody(1, "echo", "x", 0), "Mcp-Session-Id", strings.Repeat("a", 10<<10))
		if a.status != 404 {
			t.Errorf("%d", a.status)
		}
	})
}

func TestPipelined(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{})
	t.Run("corpus/H45", func(t *testing.T) {
		conn, err := w.tr.DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/mcp"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		const n = 1000
		go func() {
			for i := range n {
				body := callBody(i, "echo", "x", 0)
				fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", conn.RemoteAddr(), len(body), body)
			}
		}()
		r := bufio.NewReader(conn)
		for i := range n {
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(resp.Body)
			if !strings.Contains(string(b), fmt.Sprintf(`"id":%d}`, i)) {
				t.Fatalf("answer %d: %s", i, b)
			}
		}
	})
}
