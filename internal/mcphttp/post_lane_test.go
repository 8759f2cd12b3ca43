package mcphttp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
)

// A laned client has called a tool on its one connection, so that the next call
// takes the short way.
type laned struct {
	*world
	header []string
}

func newLaned(t *testing.T, lim mcphttp.ServerLimits, how string) *laned {
	t.Helper()
	w := newWorld(t, lim)
	w.tr.MaxConnsPerHost, w.relays = 1, how
	l := &laned{w, []string{"Mcp-Session-Id", w.initialize(mcp.V2025_11_25), "Accept", both}}
	l.call(t, "first", "long")
	return l
}

// eachLane runs a test with sessions that answer calls themselves, and with
// those that pass them on.
func eachLane(t *testing.T, lim mcphttp.ServerLimits, test func(t *testing.T, l *laned)) {
	for _, how := range []string{"answered", "waited for", "relayed", "relayed in a turn", "relayed or not"} {
		t.Run(how, func(t *testing.T) { test(t, newLaned(t, lim, how)) })
	}
}

// call echoes a word and wants it to go one way or the other.
func (l *laned) call(t *testing.T, word, way string) {
	t.Helper()
	before := l.longWay.Load()
	if a := l.post(callBody(1, "echo", word, 0), l.header...); a.status != 200 || !strings.Contains(a.body, word) || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: %+v", word, a)
	}
	if long := l.longWay.Load() > before; long != (way == "long") {
		t.Errorf("%s did not go the %s way", word, way)
	}
}

func TestLane(t *testing.T) {
	eachLane(t, mcphttp.ServerLimits{Body: 1000}, func(t *testing.T, l *laned) {
		l.call(t, "again", "short")
		l.call(t, strings.Repeat("longer", 100), "short")
		for _, tc := range []struct {
			name, body, want string
			status           int
		}{
			{"list", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "inputSchema", 200},
			{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "", 202},
			{"answer", `{"jsonrpc":"2.0","id":9,"result":{}}`, "", 202},
			{"no JSON", `{"jsonrpc":`, "-32700", 400},
			{"same key twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call"}`, "-32600", 400},
			{"batch", `[` + callBody(1, "echo", "x", 0) + `]`, "-32600", 400},
			{"large", callBody(1, "echo", strings.Repeat("x", 1000), 0), "limit", 413},
			{"modern", modernCall(1, "echo", "x", 0), "error", 400},
		} {
			t.Run(tc.name, func(t *testing.T) {
				l.call(t, "before", map[bool]string{true: "long", false: "short"}[tc.name == "modern"]) // what is too large costs the connection
				before := l.longWay.Load()
				if a := l.post(tc.body, l.header...); a.status != tc.status || !strings.Contains(a.body, tc.want) {
					t.Errorf("%+v", a)
				}
				if l.longWay.Load() == before {
					t.Error("it took the short way")
				}
			})
		}
	})
}

func TestLaneOfAnotherHeader(t *testing.T) {
	eachLane(t, mcphttp.ServerLimits{}, func(t *testing.T, l *laned) {
		other := l.initialize(mcp.V2025_06_18)
		before := l.longWay.Load()
		for _, header := range [][]string{
			{"Mcp-Session-Id", other, "Accept", both},
			{"Mcp-Session-Id", l.header[1], "Accept", both, "Test-Principal", "eve"},
			{"Mcp-Session-Id", l.header[1], "Accept", "application/json"},
		} {
			l.post(callBody(1, "echo", "x", 0), header...)
		}
		if n := l.longWay.Load() - before; n != 3 {
			t.Errorf("%d of 3 went the long way", n)
		}
	})
}

func TestLaneFailures(t *testing.T) {
	for _, tc := range []struct{ tool, want string }{
		{"panic", "internal error"}, {"fail", "internal error"}, {"none", "-32602"},
	} {
		eachLane(t, mcphttp.ServerLimits{}, func(t *testing.T, l *laned) {
			before := l.longWay.Load()
			if a := l.post(callBody(7, tc.tool, "x", 0), l.header...); a.status != 200 || !strings.Contains(a.body, tc.want) || !strings.Contains(a.body, `"id":7`) {
				t.Errorf("%+v", a)
			}
			if l.longWay.Load() != before {
				t.Error("it took the long way")
			}
			l.call(t, "after", "short")
		})
	}
}

func TestLaneSizes(t *testing.T) {
	eachLane(t, mcphttp.ServerLimits{}, func(t *testing.T, l *laned) {
		for _, n := range []int{0, 1, 1 << 10, 10 << 10, 20 << 10, 63 << 10, 64 << 10, 65 << 10, 1 << 20} {
			a := l.post(callBody(1, "big", "x", n), l.header...)
			if got := strings.Count(a.body, "x"); a.status != 200 || got < n || got > n+10 {
				t.Errorf("%d: status %d, %d letters", n, a.status, got)
			}
		}
		l.call(t, "after", "short")
	})
}

// A server is not kept waiting by a client that does not read.
func TestLaneOfSlowReader(t *testing.T) {
	l := newLaned(t, mcphttp.ServerLimits{}, "relayed in a turn")
	l.call(t, "again", "short")
	take(t, l.told)
	resp, err := l.do(t.Context(), "POST", l.url, callBody(1, "big", "x", 32<<20), l.header...)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	take(t, l.told)
}

func TestLaneStream(t *testing.T) {
	eachLane(t, mcphttp.ServerLimits{}, func(t *testing.T, l *laned) {
		before := l.longWay.Load()
		s := l.listen(callBody(5, "notify", "token", 3), l.header...)
		for range 3 {
			s.want("progressToken", "token")
		}
		s.want("notified", `"id":5`)
		s.wantEnd()
		if l.longWay.Load() != before {
			t.Error("it took the long way")
		}
	})
}

// wait begins a call by the short way that does not end by itself.
func (l *laned) wait(ctx context.Context, t *testing.T) <-chan answer {
	t.Helper()
	before := l.longWay.Load()
	ch := l.inBackground(ctx, callBody(3, "wait", "x", 0), l.header...)
	take(t, l.started)
	if l.longWay.Load() != before {
		t.Error("it took the long way")
	}
	l.tr.MaxConnsPerHost = 0
	return ch
}

func TestLaneEnds(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(*laned)
		want error
	}{
		{"delete", func(l *laned) { l.send("DELETE", l.url, "", l.header[:2]...) }, mcphttp.ErrSessionEnded},
		{"cancelled", func(l *laned) {
			l.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`, l.header...)
		}, jsonrpc.ErrCancelled},
		{"key revoked", func(l *laned) { l.srv.CloseSessionsOf("") }, mcphttp.ErrSessionEnded},
	} {
		eachLane(t, mcphttp.ServerLimits{}, func(t *testing.T, l *laned) {
			ch := l.wait(t.Context(), t)
			tc.end(l)
			if err := take(t, l.ended); !errors.Is(err, tc.want) {
				t.Errorf("%s: cause %v", tc.name, err)
			}
			take(t, ch)
		})
	}
}

func TestLaneClientGone(t *testing.T) {
	eachLane(t, mcphttp.ServerLimits{}, func(t *testing.T, l *laned) {
		ctx, hangUp := context.WithCancel(t.Context())
		ch := l.wait(ctx, t)
		hangUp()
		for range ch {
		}
		l.release <- struct{}{} // a session's call goes on
		until(t, "nothing in flight", func() bool { return l.srv.Stats().InFlight == 0 })
		if len(l.ended) != 0 {
			t.Error("the call was cancelled")
		}
	})
}

func TestLaneWhileDraining(t *testing.T) {
	eachLane(t, mcphttp.ServerLimits{}, func(t *testing.T, l *laned) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l.srv.Drain(ctx)
		before := l.longWay.Load()
		if a := l.post(callBody(1, "echo", "x", 0), l.header...); !strings.Contains(a.body, "shutting down") && a.status != 404 {
			t.Errorf("%+v", a)
		}
		if l.longWay.Load() == before {
			t.Error("it took the short way")
		}
	})
}
