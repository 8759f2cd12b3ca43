//go:build linux

package upstream_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// A tape is what a server was sent, but for lists, which have their own time:
// method, headers that repeat the body, params.
type tape struct {
	http.Handler
	mu    sync.Mutex
	lines []string
}

func (p *tape) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if method, _ := jsonrpc.GetString(body, "method"); method != mcp.MethodListen && method != mcp.MethodToolsList {
		p.mu.Lock()
		p.lines = append(p.lines, fmt.Sprint(method, r.Header["Mcp-Method"], r.Header["Mcp-Name"], string(jsonrpc.Get(body, "params"))))
		p.mu.Unlock()
	}
	p.Handler.ServeHTTP(w, r)
}

func (p *tape) rewind() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = nil
}

// yes answers whatever it is asked, and counts that.
type yes struct{ asked chan string }

func (y yes) Handle(_ context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	y.asked <- req.Method
	return &jsonrpc.Response{Result: []byte(`{"action":"accept","content":{}}`)}, nil
}

func (yes) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

const asksName = `"resultType":"input_required","requestState":"s","inputRequests":` +
	`{"q":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}}`

// TestBeginModern wants a call to a modern server that was begun to end as one
// that is waited for, with the same requests to the server.
func TestBeginModern(t *testing.T) {
	answer := func(status int, bodies ...string) func(http.ResponseWriter, *http.Request, string, int) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ string, n int) bool {
			if n > len(bodies) {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":%s}`, bodies[n-1])
			return true
		}
	}
	refused := func(versions string) string {
		return `{"code":-32022,"message":"Unsupported protocol version","data":{"supported":[` + versions + `]}}`
	}
	const mismatch, odd = `{"code":-32020,"message":"header"}`, `{"code":-32050,"message":"mine"}`
	for _, tc := range []struct {
		name    string
		bend    func(http.ResponseWriter, *http.Request, string, int) bool
		results []string
	}{
		{"answered", nil, nil},
		{"version refused once", answer(400, refused(`"2026-07-28"`)), nil},
		{"version refused once with 200", answer(200, refused(`"2099-01-01","2026-07-28"`)), nil},
		{"version refused twice", answer(400, refused(`"2026-07-28"`), refused(`"2026-07-28"`)), nil},
		{"version refused, then asks", answer(400, refused(`"2026-07-28"`)), []string{asksName}},
		{"version gone", answer(400, refused(`"2025-06-18"`)), nil},
		{"header mismatch", answer(400, mismatch), nil},
		{"header mismatch with 200", answer(200, mismatch), nil},
		{"an error of its own", answer(400, odd), nil},
		{"not found", answer(404, `{"code":-32601,"message":"no"}`), nil},
		{"503", answer(503, odd), nil},
		{"asks", nil, []string{asksName}},
		{"asks twice", nil, []string{asksName, asksName}},
		{"sheds load", nil, []string{`"resultType":"input_required"`}},
		{"weird", nil, []string{`"resultType":"weird"`}},
		{"no text", nil, []string{`"resultType":7`}},
		{"task", nil, []string{`"resultType":"task","taskId":"1"`}},
	} {
		for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
			t.Run(fmt.Sprint(tc.name, " for ", era), func(t *testing.T) {
				t.Parallel()
				want := overModern(t, "call", era, tc.bend, tc.results)
				if got := overModern(t, "begin", era, tc.bend, tc.results); got != want {
					t.Errorf("begun: %s\n\nwaited for: %s", got, want)
				}
			})
		}
	}
}

// overModern makes one call and says all that came of it.
func overModern(t *testing.T, way string, era mcp.Era, bend func(http.ResponseWriter, *http.Request, string, int) bool, results []string) string {
	t.Helper()
	y := newToy()
	y.modern = true
	sent := &tape{Handler: y}
	srv := httptest.NewServer(sent)
	t.Cleanup(srv.Close)
	w := newWorld(t, worldOptions{limits: func(l *config.Limits) { l.InFlightPerServer, l.CallIdle = 1, 5*time.Second }}, remote("a", srv.URL+"/mcp"))
	w.state("a", upstream.Ready)
	c := &upstream.Caller{Session: "1", Version: mcp.LatestLegacy, Offer: mcp.Offer{Elicit: true}}
	params := `{"name":"echo","arguments":{"token":"t"}}`
	if era == mcp.Modern {
		c = &upstream.Caller{Era: era, Version: mcp.LatestModern, Offer: mcp.Offer{Elicit: true}}
		params = strings.TrimSuffix(params, "}") + `,"_meta":{"` + mcp.MetaVersion + `":"` + mcp.LatestModern + `","` + mcp.MetaCapabilities + `":{"elicitation":{}}}}`
	}
	back := yes{make(chan string, 100)}
	req := &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(params), Back: back}
	u := w.up("a")
	prepare := func() {
		y.bendTo(nil)
		y.answers()
		if got := outcome(u.Call(t.Context(), c, req)); !strings.Contains(got, `"t"`) { // which leaves a connection
			t.Fatal(got)
		}
		y.answers(results...)
		y.bendTo(bend)
		sent.rewind()
	}
	prepare()
	got := ""
	if way == "call" {
		got = outcome(u.Call(lateContext(t.Context()), c, req))
	} else {
		done := make(endings, 1)
		w.beginOn(lateContext(t.Context()), c, req, done, prepare)
		got = <-done
	}
	sent.mu.Lock()
	defer sent.mu.Unlock()
	status := u.Status()
	return fmt.Sprintf("%s, %d questions, %d run, %d restarts, sent\n%s", got, len(back.asked), status.Running, status.Restarts, strings.Join(sent.lines, "\n"))
}

// beginOn begins a call on a connection that another one has left; prepare makes
// that one, again where it was not kept.
func (w *world) beginOn(ctx context.Context, c *upstream.Caller, req *jsonrpc.Request, done endings, prepare func()) {
	w.t.Helper()
	for range 10 {
		if pipe := w.up("a").PipeFor(c); pipe != nil && pipe.Begin(ctx, new(jsonrpc.Turn), c, req, done) {
			return
		}
		prepare()
	}
	w.t.Fatal("the call did not begin")
}
