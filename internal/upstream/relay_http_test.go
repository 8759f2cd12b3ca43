//go:build linux

package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/late"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// endings hear the outcome of one call, which has room for no other.
type endings chan string

func (e endings) Complete(_ *jsonrpc.Turn, resp *jsonrpc.Response, err error) {
	select {
	case e <- outcome(resp, err):
	default:
		panic("a call ended twice")
	}
}

// outcome is the result or the reason of the error.
func outcome(resp *jsonrpc.Response, err error) string {
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &wire):
		return reasonOf(err)
	case err != nil:
		return err.Error()
	case resp.Err != nil:
		return "answered " + reasonOf(resp.Err)
	}
	defer resp.Release()
	return string(resp.Result)
}

// overHTTP is a server behind a real network, with room for one call.
func overHTTP(t *testing.T, y *toy) (*world, *httptest.Server) {
	srv := httptest.NewServer(y)
	t.Cleanup(srv.Close)
	w := newWorld(t, worldOptions{limits: func(l *config.Limits) { l.InFlightPerServer, l.CallIdle = 1, time.Second }}, remote("a", srv.URL+"/mcp"))
	w.state("a", upstream.Ready)
	return w, srv
}

func lateContext(parent context.Context) *late.Context {
	ctx := new(late.Context)
	ctx.Init(parent)
	return ctx
}

// begin begins a call that the server treats as bend has it, on a connection
// that another call has left.
func (w *world) begin(ctx context.Context, y *toy, bend func(http.ResponseWriter, *http.Request, string, int) bool) endings {
	w.t.Helper()
	w.echo("a", "warm")
	y.bendTo(bend)
	c, done := legacyCaller(), make(endings, 1)
	pipe := w.up("a").PipeFor(c)
	if pipe == nil || !pipe.Begin(ctx, new(jsonrpc.Turn), c, plainCall(), done) {
		w.t.Fatal("the call did not begin")
	}
	return done
}

func plainCall() *jsonrpc.Request {
	return &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"echo","arguments":{"token":"t"}}`)}
}

// TestBeginRetries wants a call that was begun to end as one that is waited for,
// with as many requests.
func TestBeginRetries(t *testing.T) {
	status := func(code, times int, body string) func(http.ResponseWriter, *http.Request, string, int) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ string, n int) bool {
			if n <= times {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(code)
				fmt.Fprint(w, body)
			}
			return n <= times
		}
	}
	cut := func(times int) func(http.ResponseWriter, *http.Request, string, int) bool {
		return func(_ http.ResponseWriter, _ *http.Request, _ string, n int) bool {
			if n <= times {
				panic(http.ErrAbortHandler)
			}
			return false
		}
	}
	const failed = `{"jsonrpc":"2.0","id":null,"error":{"code":-7,"message":"no"}}`
	const answered = `{"content":[{"type":"text","text":"t"}]}`
	for _, tc := range []struct {
		name         string
		bend         func(http.ResponseWriter, *http.Request, string, int) bool
		want         string
		calls, inits int
	}{
		{"answered", nil, answered, 1, 0},
		{"lost session", status(404, 1, "gone"), answered, 2, 1},
		{"lost session as examples have it", status(400, 1, `{"error":{"code":-32000,"message":"No valid session ID"}}`), answered, 2, 1},
		{"503 once", status(503, 1, ""), answered, 2, 0},
		{"429 with an error", status(429, 1, failed), answered, 2, 0},
		{"503 twice", status(503, 2, ""), string(mcp.Overloaded), 2, 0},
		{"400", status(400, 9, "bad"), string(mcp.UpstreamProtocol), 1, 0},
		{"400 with an error", status(400, 9, failed), "answered -7", 1, 0},
		{"200 with an error", status(200, 9, failed), "answered -7", 1, 0},
		{"500", status(500, 9, ""), string(mcp.UpstreamProtocol), 1, 0},
		{"401", status(401, 9, ""), "-32603", 1, 0},
		{"403 with an error", status(403, 9, failed), "-32603", 1, 0},
		{"garbage", status(200, 9, "{"), string(mcp.UpstreamProtocol), 1, 0},
		{"cut", cut(9), string(mcp.UpstreamClosed), 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, way := range []string{"call", "begin"} {
				y := newToy()
				w, _ := overHTTP(t, y)
				inits, got := y.inits, ""
				if way == "begin" {
					got = <-w.begin(lateContext(t.Context()), y, tc.bend)
				} else {
					y.bendTo(tc.bend)
					got = outcome(w.up("a").Call(lateContext(t.Context()), legacyCaller(), plainCall()))
				}
				y.mu.Lock()
				calls, greeted := y.seen[mcp.MethodToolsCall], y.inits-inits
				y.mu.Unlock()
				running := w.up("a").Status().Running
				if got != tc.want || calls != tc.calls || greeted < tc.inits || running != 0 {
					t.Errorf("%s: %s after %d calls and %d handshakes, %d run", way, got, calls, greeted, running)
				}
				if tc.name != "401" { // it is asked for nothing any more
					y.bendTo(nil)
					w.echo("a", "again") // there is a place
				}
			}
		})
	}
}

// TestBeginEnds ends a call that the server does not answer.
func TestBeginEnds(t *testing.T) {
	errWhy := errors.New("why")
	for _, tc := range []struct {
		name string
		end  func(w *world, srv *httptest.Server, cancel func(error))
		want string
	}{
		{"cancelled", func(_ *world, _ *httptest.Server, cancel func(error)) { cancel(errWhy) }, "why"},
		{"silent", func(*world, *httptest.Server, func(error)) {}, string(mcp.UpstreamTimeout)},
		{"server gone", func(_ *world, srv *httptest.Server, _ func(error)) {
			srv.Listener.Close()
			srv.CloseClientConnections()
		}, string(mcp.UpstreamClosed)},
		{"set closed", func(w *world, _ *httptest.Server, _ func(error)) { w.set.Close(context.Background()) }, string(mcp.UpstreamClosed)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y, arrived := newToy(), make(chan struct{}, 1)
			w, srv := overHTTP(t, y)
			ctx := lateContext(t.Context())
			var calls atomic.Int32
			done := w.begin(ctx, y, func(_ http.ResponseWriter, r *http.Request, _ string, _ int) bool {
				calls.Add(1)
				arrived <- struct{}{}
				<-r.Context().Done()
				return true
			})
			<-arrived
			tc.end(w, srv, ctx.End)
			if got := <-done; got != tc.want || calls.Load() != 1 {
				t.Errorf("%s after %d calls", got, calls.Load())
			}
		})
	}
}

// TestBeginNobodyThere begins nothing when the server has closed what was kept.
func TestBeginNobodyThere(t *testing.T) {
	y := newToy()
	w, srv := overHTTP(t, y)
	w.echo("a", "warm")
	c := legacyCaller()
	pipe := w.up("a").PipeFor(c)
	srv.Close()
	if pipe.Begin(lateContext(t.Context()), new(jsonrpc.Turn), c, plainCall(), make(endings, 1)) {
		t.Error("a call began where nobody is")
	}
	if n := w.up("a").Status().Running; n != 0 {
		t.Errorf("%d calls run", n)
	}
}
