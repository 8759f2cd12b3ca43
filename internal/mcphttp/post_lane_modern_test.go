package mcphttp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/wire"
)

// eachModernLane is eachLane for a client of the modern era, which has called echo.
func eachModernLane(t *testing.T, lim mcphttp.ServerLimits, test func(t *testing.T, l *laned)) {
	for _, how := range []string{"answered", "waited for", "relayed", "relayed in a turn", "relayed or not"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t, lim)
			w.tr.MaxConnsPerHost, w.relays = 1, how
			l := &laned{w, nil}
			l.modern(t, "echo", "first", "long")
			test(t, l)
		})
	}
}

// modern calls a tool and wants it to go one way or the other.
func (l *laned) modern(t *testing.T, tool, word, way string) {
	t.Helper()
	l.modernly(t, modernCall(1, tool, word, 3), way, 200, word, modernHeader(mcp.MethodToolsCall, tool, "Accept", both)...)
}

func (l *laned) modernly(t *testing.T, body, way string, status int, want string, header ...string) {
	t.Helper()
	before := l.longWay.Load()
	if a := l.post(body, header...); a.status != status || !strings.Contains(a.body, want) {
		t.Errorf("%.200s: %+v", body, a)
	}
	if long := l.longWay.Load() > before; long != (way == "long") {
		t.Errorf("%.200s did not go the %s way", body, way)
	}
}

func TestModernLane(t *testing.T) {
	eachModernLane(t, mcphttp.ServerLimits{}, func(t *testing.T, l *laned) {
		l.modern(t, "echo", "again", "short")
		l.modern(t, "echo", strings.Repeat("longer", 100), "short")
		l.modern(t, "big", "xxx", "long") // another tool has another header
		l.modern(t, "big", "xxx", "short")
		l.modern(t, "echo", "back", "long")
		l.modern(t, "echo", "back again", "short")
	})
}

// What the body says is held against the header each time.
func TestModernLaneMismatch(t *testing.T) {
	good := modernCall(1, "echo", "x", 0)
	for _, tc := range []struct {
		name, body, want string
		status           int
	}{
		{"another tool", modernCall(1, "big", "x", 3), "Mcp-Name", 400},
		{"another method", modernRequest(mcp.MethodToolsList, ""), "Mcp-Method", 400},
		{"another version", strings.ReplaceAll(good, mcp.V2026_07_28, "2027-01-01"), "MCP-Protocol-Version", 400},
		{"no version", strings.ReplaceAll(good, mcp.MetaVersion, "other"), "missing", 400},
		{"no capabilities", strings.ReplaceAll(good, mcp.MetaCapabilities, "other"), "must be an object", 400},
		{"no _meta", callBody(1, "echo", "x", 0), "missing", 400},
		{"no name", strings.Replace(good, `"name":"echo"`, `"name":7`, 1), "Mcp-Name", 400},
		{"name missing", strings.Replace(good, `"name":"echo",`, ``, 1), "Mcp-Name", 400},
		{"no params", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, "missing", 400},
	} {
		eachModernLane(t, mcphttp.ServerLimits{}, func(t *testing.T, l *laned) {
			header := modernHeader(mcp.MethodToolsCall, "echo", "Accept", both)
			l.modernly(t, tc.body, "long", tc.status, tc.want, header...)
			l.modern(t, "echo", "before", "short")
			l.modernly(t, tc.body, "long", tc.status, tc.want, header...)
			l.modern(t, "echo", "after", "short")
		})
	}
}

// Arguments in the header are looked at each time.
func TestModernLaneParamHeader(t *testing.T) {
	eachModernLane(t, mcphttp.ServerLimits{}, func(t *testing.T, l *laned) {
		for range 3 {
			l.modernly(t, modernCall(1, "echo", "x", 0), "long", 200, "x", modernHeader(mcp.MethodToolsCall, "echo", "Accept", both, "Mcp-Param-Text", "x")...)
		}
	})
}

func TestModernLaneFailures(t *testing.T) {
	for _, tc := range []struct {
		tool, want string
		status     int
	}{
		{"panic", "internal error", 200}, {"fail", "internal error", 200}, {"none", "-32602", 400},
	} {
		eachModernLane(t, mcphttp.ServerLimits{}, func(t *testing.T, l *laned) {
			header := modernHeader(mcp.MethodToolsCall, tc.tool, "Accept", both)
			l.modernly(t, modernCall(7, tc.tool, "x", 0), "long", tc.status, tc.want, header...)
			l.modernly(t, modernCall(8, tc.tool, "x", 0), "short", tc.status, tc.want, header...)
		})
	}
}

func TestModernLaneStream(t *testing.T) {
	eachModernLane(t, mcphttp.ServerLimits{}, func(t *testing.T, l *laned) {
		for range 2 {
			s := l.listen(modernCall(5, "notify", "token", 3), modernHeader(mcp.MethodToolsCall, "notify", "Accept", both)...)
			for range 3 {
				s.want("progressToken", "token")
			}
			s.want("notified", `"id":5`)
			s.wantEnd()
		}
		if n := l.longWay.Load(); n != 2 {
			t.Errorf("%d went the long way", n)
		}
	})
}

// A modern client cancels by hanging up, whoever looks after its connection.
func TestModernLaneClientGone(t *testing.T) {
	eachModernLane(t, mcphttp.ServerLimits{}, func(t *testing.T, l *laned) {
		header := modernHeader(mcp.MethodToolsCall, "wait", "Accept", both)
		for _, way := range []string{"long", "short", "short"} {
			l.release <- struct{}{}
			l.modernly(t, modernCall(3, "wait", "x", 0), way, 200, "released", header...)
			take(t, l.started)
		}
		before := l.longWay.Load()
		ctx, hangUp := context.WithCancel(t.Context())
		ch := l.inBackground(ctx, modernCall(3, "wait", "x", 0), header...)
		take(t, l.started)
		hangUp()
		if err := take(t, l.ended); !errors.Is(err, wire.ErrGone) {
			t.Errorf("cause %v", err)
		}
		for range ch {
		}
		until(t, "nothing in flight", func() bool { return l.srv.Stats().InFlight == 0 })
		if l.longWay.Load() != before {
			t.Error("it took the long way")
		}
	})
}

func TestModernLaneWhileDraining(t *testing.T) {
	eachModernLane(t, mcphttp.ServerLimits{}, func(t *testing.T, l *laned) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l.modern(t, "echo", "before", "short")
		l.srv.Drain(ctx)
		l.modernly(t, modernCall(1, "echo", "x", 0), "long", 503, "shutting down", modernHeader(mcp.MethodToolsCall, "echo", "Accept", both)...)
	})
}

// A lane that is not used lets go of its session, and opens another one when it is
// used again.
func TestModernLaneIdle(t *testing.T) {
	idleTimeout = 4 * time.Second
	defer func() { idleTimeout = 0 }()
	w := newWorld(t, mcphttp.ServerLimits{})
	w.tr.MaxConnsPerHost, w.relays = 1, "relayed"
	l := &laned{w, nil}
	l.modern(t, "echo", "first", "long")
	l.modern(t, "echo", "second", "short")
	opened := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.openings)
	}
	before := opened()
	l.modern(t, "echo", "third", "short")
	if n := opened(); n != before {
		t.Errorf("%d sessions more for a request that followed at once", n-before)
	}
	<-time.After(2 * time.Second)
	l.modern(t, "echo", "fourth", "short")
	if n := opened(); n != before+1 {
		t.Errorf("%d sessions more after a while, want 1", n-before)
	}
}
