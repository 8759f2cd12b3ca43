package upstream_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// bubble runs a test with simulated time, against a toy.
func bubble(t *testing.T, name string, y *toy, run func(t *testing.T, w *world, wire *wire)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			line := toWire(y)
			line.down.Store(y.away)
			w := newWorld(t, worldOptions{transport: line}, remote("a", "http://toy.example/mcp"))
			w.wait = 10 * time.Minute // simulated
			run(t, w, line)
		})
	})
}

func TestRefusals(t *testing.T) {
	status := func(code int, header, value, body string, times int) func(http.ResponseWriter, *http.Request, string, int) bool {
		left := times
		return func(w http.ResponseWriter, _ *http.Request, method string, _ int) bool {
			if method != mcp.MethodToolsCall || left == 0 {
				return false
			}
			left--
			if header != "" {
				w.Header().Set(header, value)
			}
			http.Error(w, body, code)
			return true
		}
	}
	for _, tc := range []struct {
		name   string
		bend   func(http.ResponseWriter, *http.Request, string, int) bool
		reason string
		ran    int
		inits  int
		least  time.Duration
		most   time.Duration
	}{
		{"404 once", status(404, "", "", "gone", 1), "", 1, 2, 0, 6 * time.Second},
		{"404 for ever", status(404, "", "", "gone", -1), "upstream_unavailable", 0, 2, 0, 12 * time.Second},
		{"400 as examples have it", status(400, "", "", `{"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`, 1), "", 1, 2, 0, 6 * time.Second},
		{"400", status(400, "", "", "bad", -1), "upstream_protocol_error", 0, 1, 0, time.Second},
		{"429 once", status(429, "Retry-After", "3", "", 1), "", 1, 1, 3 * time.Second, 4 * time.Second},
		{"503 once", status(503, "", "", "", 1), "", 1, 1, 100 * time.Millisecond, time.Second},
		{"503 with a date", status(503, "Retry-After", time.Date(2000, 1, 1, 0, 0, 5, 0, time.UTC).Format(http.TimeFormat), "", 1), "", 1, 1, 0, 10 * time.Second},
		{"503 for ever", status(503, "Retry-After", "9999", "", -1), "overloaded", 0, 1, 60 * time.Second, 121 * time.Second},
		{"500", status(500, "", "", "", -1), "upstream_protocol_error", 0, 1, 0, time.Second},
		{"307", status(307, "Location", "http://evil.example/", "", -1), "upstream_protocol_error", 0, 1, 0, time.Second},
	} {
		y := newToy()
		bubble(t, "fault/F25/"+tc.name, y, func(t *testing.T, w *world, _ *wire) {
			w.state("a", upstream.Ready)
			y.set(func() { y.bend = tc.bend })
			begun := time.Now()
			ctx := t.Context()
			_, reason := w.callAs(ctx, legacyCaller(), "a", "echo", `{"token":"t"}`)
			took := time.Since(begun)
			if reason != tc.reason || y.times("t") != tc.ran {
				t.Errorf("reason %q, ran %d times", reason, y.times("t"))
			}
			if y.inits > tc.inits+1 || y.inits < tc.inits {
				t.Errorf("%d handshakes", y.inits)
			}
			if took < tc.least || took > tc.most {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestUnauthorized(t *testing.T) {
	y := newToy()
	bubble(t, "fault/F25/401", y, func(t *testing.T, w *world, _ *wire) {
		w.state("a", upstream.Ready)
		y.mu.Lock()
		y.bend = func(w http.ResponseWriter, _ *http.Request, _ string, _ int) bool {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return true
		}
		y.mu.Unlock()
		_, err := w.up("a").Call(t.Context(), legacyCaller(), &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"echo"}`)})
		if err == nil || !strings.Contains(err.Error(), "Authentication failed") {
			t.Errorf("the call: %v", err)
		}
		w.state("a", upstream.SignIn)
		if _, reason := w.call("a", "echo", `{}`); reason != "-32603" {
			t.Errorf("the next call: %s", reason)
		}
		if err := w.up("a").Refused(legacyCaller()); err == nil || !strings.Contains(err.Error(), "Authentication failed") {
			t.Errorf("refused: %v", err)
		}
		y.set(func() { y.bend = nil })
		pass(2 * time.Minute) // simulated
		w.state("a", upstream.Ready)
		w.echo("a", "welcome back")
	})
}

func TestComeAndGo(t *testing.T) {
	for _, id := range []string{"S001-70", "S001-71", "S001-72"} {
		y := newToy()
		y.away = true
		bubble(t, "req/"+id, y, func(t *testing.T, w *world, line *wire) {
			w.state("a", upstream.Failed)
			if _, reason := w.call("a", "echo", `{}`); reason != string(mcp.UpstreamUnavailable) {
				t.Errorf("while it is away: %s", reason)
			}
			line.down.Store(false)
			pass(20 * time.Second) // simulated
			w.state("a", upstream.Ready)
			w.echo("a", "here")
			who := &heard{}
			if _, _, err := w.up("a").Subscribe(t.Context(), legacyCaller(), "toy://one", who); err != nil {
				t.Fatal(err)
			}
			line.down.Store(true)
			if _, reason := w.call("a", "echo", `{"token":"lost"}`); reason != string(mcp.UpstreamUnavailable) || y.times("lost") != 0 {
				t.Errorf("while it is away again: %s", reason)
			}
			y.set(func() { y.tools += `,{"name":"new","inputSchema":{"type":"object"}}` })
			line.down.Store(false)
			pass(20 * time.Second) // simulated
			if s := w.state("a", upstream.Ready); s.Tools != 2 {
				t.Errorf("%d tools after it came back", s.Tools)
			}
			w.echo("a", "here again")
			if n := y.times("subscribe toy://one"); n != 2 {
				t.Errorf("subscribed %d times", n)
			}
		})
	}
}

type heard struct{ n int }

func (h *heard) Updated(context.Context, string, *jsonrpc.Notification) { h.n++ }

func TestListGrace(t *testing.T) {
	y := newToy()
	bubble(t, "fault/F1/grace", y, func(t *testing.T, w *world, line *wire) {
		w.state("a", upstream.Ready)
		line.down.Store(true)
		w.call("a", "echo", `{}`)
		pass(20 * time.Second) // simulated
		if s := w.up("a").Status(); s.Tools != 1 {
			t.Errorf("%d tools after 20 s, %s", s.Tools, s.State)
		}
		pass(20 * time.Second)
		if s := w.up("a").Status(); s.Tools != 0 {
			t.Errorf("%d tools after 40 s, %s", s.Tools, s.State)
		}
		line.down.Store(false)
		pass(20 * time.Second)
		if s := w.up("a").Status(); s.Tools != 1 || s.State != upstream.Ready {
			t.Errorf("%d tools after it came back, %s", s.Tools, s.State)
		}
	})
}

func TestNeverLists(t *testing.T) {
	y := newToy()
	y.bend = func(w http.ResponseWriter, r *http.Request, method string, n int) bool {
		if method == mcp.MethodToolsList && n == 1 {
			<-r.Context().Done()
			return true
		}
		return false
	}
	bubble(t, "fault/F4/lists", y, func(t *testing.T, w *world, _ *wire) {
		begun := time.Now()
		if s := w.state("a", upstream.Failed); !strings.Contains(s.Reason.String(), "tools/list") {
			t.Errorf("reason: %s", s.Reason)
		}
		if took := time.Since(begun); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("given up after %v", took)
		}
		pass(10 * time.Second) // simulated
		w.state("a", upstream.Ready)
	})
}

func TestTimeout(t *testing.T) {
	y := newToy()
	gone := make(chan struct{})
	y.bend = func(w http.ResponseWriter, r *http.Request, method string, _ int) bool {
		if method != mcp.MethodToolsCall {
			return false
		}
		<-r.Context().Done()
		close(gone)
		return true
	}
	bubble(t, "fault/F5", y, func(t *testing.T, w *world, _ *wire) {
		w.state("a", upstream.Ready)
		w.up("a").Config().Timeout = 7 * time.Second
		begun := time.Now()
		if _, reason := w.call("a", "echo", `{}`); reason != string(mcp.UpstreamTimeout) {
			t.Errorf("reason %s", reason)
		}
		if took := time.Since(begun); took < 7*time.Second || took > 9*time.Second {
			t.Errorf("it took %v", took)
		}
		<-gone
	})
}

// TestStorm restores a host with many servers after it was unreachable for a while.
// fault/F22
func TestStorm(t *testing.T) {
	t.Run("fault/T42", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const many = 500
			attempts := map[string]int{}
			var seconds [60]int
			var mu sync.Mutex
			begun := time.Now()
			y := newToy()
			line := toWire(y)
			line.dialled = func(host string) {
				mu.Lock()
				defer mu.Unlock()
				if line.down.Load() {
					attempts[host]++
					seconds[int(time.Since(begun).Seconds())]++
				}
			}
			line.down.Store(true)
			var list []*config.Server
			for i := range many {
				s := remote(fmt.Sprintf("s%d", i), fmt.Sprintf("http://host-%d.example/mcp", i))
				s.RestartDelay = 15 * time.Second
				list = append(list, s)
			}
			w := newWorld(t, worldOptions{transport: line}, list...)
			pass(30 * time.Second) // simulated
			line.down.Store(false)
			mu.Lock()
			most := 0
			for _, n := range attempts {
				most = max(most, n)
			}
			if most > 8 {
				t.Errorf("%d attempts on one host in 30 s", most)
			}
			sum := 0
			for _, n := range seconds {
				sum += n
			}
			// The first seconds contain the first attempts of all servers.
			if worst, mean := slices.Max(seconds[4:30]), sum/30; worst > 3*mean {
				t.Errorf("%d attempts in one second, %d on the average", worst, mean)
			}
			mu.Unlock()
			pass(15 * time.Second) // simulated
			for i := range many {
				if s := w.up(fmt.Sprintf("s%d", i)).Status(); s.State != upstream.Ready {
					t.Fatalf("%s is %s 15 s after the host came back", s.Name, s.State)
				}
			}
		})
	})
}

func TestModernServer(t *testing.T) {
	y := newToy()
	y.modern = true
	y.tools += `,{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":""}}}}`
	bubble(t, "corpus/U13", y, func(t *testing.T, w *world, _ *wire) {
		if s := w.state("a", upstream.Ready); s.Tools != 1 || s.Era != "modern" || len(s.Issues) == 0 {
			t.Errorf("%d tools, era %s, issues %v", s.Tools, s.Era, s.Issues)
		}
	})
	shed := `"resultType":"input_required","requestState":"later"`
	y = newToy()
	y.modern, y.results = true, []string{shed, shed}
	bubble(t, "bridge/load shedding", y, func(t *testing.T, w *world, _ *wire) {
		w.state("a", upstream.Ready)
		begun := time.Now()
		if text, reason := w.call("a", "echo", `{"token":"t"}`); text != "t" || time.Since(begun) < 500*time.Millisecond {
			t.Errorf("%q, %s after %v", text, reason, time.Since(begun))
		}
		y.set(func() { y.results = []string{shed, shed, shed, shed, shed} })
		if _, reason := w.call("a", "echo", `{}`); reason != string(mcp.Overloaded) {
			t.Errorf("a server that never has time: %s", reason)
		}
	})
	y = newToy()
	y.modern, y.results = true, []string{`"resultType":"weird"`}
	bubble(t, "corpus/U18", y, func(t *testing.T, w *world, _ *wire) {
		w.state("a", upstream.Ready)
		if _, reason := w.call("a", "echo", `{}`); reason != string(mcp.UpstreamProtocol) {
			t.Errorf("reason %s", reason)
		}
		w.echo("a", "alive")
	})
}

// TestVersionRefused lets a modern server refuse the version of a request. If the
// server lists that version as supported, the request is sent again. Otherwise the
// handshake is repeated.
func TestVersionRefused(t *testing.T) {
	refuse := func(method, supported string, times int) func(http.ResponseWriter, *http.Request, string, int) bool {
		return func(w http.ResponseWriter, r *http.Request, got string, n int) bool {
			if got != method || n > times {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":[%s],"requested":%q}}}`,
				supported, r.Header.Get("MCP-Protocol-Version"))
			return true
		}
	}
	y := newToy()
	y.modern, y.bend = true, refuse(mcp.MethodDiscover, `"2099-01-01","2026-07-28"`, 1)
	bubble(t, "bridge/version refused at discovery", y, func(t *testing.T, w *world, _ *wire) {
		s := w.state("a", upstream.Ready)
		if seen := y.asked(); s.Era != "modern" || seen[mcp.MethodDiscover] != 2 || seen[mcp.MethodInitialize] != 1 {
			t.Errorf("era %s, asked %v", s.Era, seen)
		}
	})
	y = newToy()
	y.modern, y.bend = true, refuse(mcp.MethodToolsCall, `"2026-07-28"`, 1)
	bubble(t, "bridge/version refused at a call", y, func(t *testing.T, w *world, _ *wire) {
		w.state("a", upstream.Ready)
		if text, reason := w.call("a", "echo", `{"token":"t"}`); text != "t" || y.times("t") != 1 {
			t.Errorf("%q, %s, ran %d times", text, reason, y.times("t"))
		}
	})
	y = newToy()
	y.modern = true
	bubble(t, "bridge/version gone", y, func(t *testing.T, w *world, _ *wire) {
		w.state("a", upstream.Ready)
		y.set(func() { y.modern, y.bend = false, refuse(mcp.MethodToolsCall, `"2025-06-18"`, 1) })
		if text, reason := w.call("a", "echo", `{"token":"t"}`); text != "t" || y.times("t") != 1 {
			t.Errorf("%q, %s, ran %d times", text, reason, y.times("t"))
		}
		if s := w.state("a", upstream.Ready); s.Era != "legacy" {
			t.Errorf("era %s after the server was replaced", s.Era)
		}
	})
}
