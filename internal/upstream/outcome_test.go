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
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// outcome returns the result, or the reason of the error.
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

// overHTTP runs a server over a real network, with a limit of one call in flight.
func overHTTP(t *testing.T, y *toy) (*world, *httptest.Server) {
	srv := httptest.NewServer(y)
	t.Cleanup(srv.Close)
	w := newWorld(t, worldOptions{limits: func(l *config.Limits) { l.InFlightPerServer, l.CallIdle = 1, time.Second }}, remote("a", srv.URL+"/mcp"))
	w.state("a", upstream.Ready)
	return w, srv
}

func plainCall() *jsonrpc.Request {
	return &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"echo","arguments":{"token":"t"}}`)}
}

// TestCallOutcomes checks what the caller is told for each behaviour of the server,
// and how often the server was called.
func TestCallOutcomes(t *testing.T) {
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
			y := newToy()
			w, _ := overHTTP(t, y)
			inits := y.inits
			y.bendTo(tc.bend)
			got := outcome(w.up("a").Call(t.Context(), legacyCaller(), plainCall()))
			y.mu.Lock()
			calls, greeted := y.seen[mcp.MethodToolsCall], y.inits-inits
			y.mu.Unlock()
			running := w.up("a").Status().Running
			if got != tc.want || calls != tc.calls || greeted < tc.inits || running != 0 {
				t.Errorf("%s after %d calls and %d handshakes, %d run", got, calls, greeted, running)
			}
			if tc.name != "401" { // the server gets no more requests
				y.bendTo(nil)
				w.echo("a", "again") // the place is free again
			}
		})
	}
}

// TestCallEnds ends a call that the server does not answer.
func TestCallEnds(t *testing.T) {
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
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var calls atomic.Int32
			w.echo("a", "warm")
			y.bendTo(func(_ http.ResponseWriter, r *http.Request, _ string, _ int) bool {
				calls.Add(1)
				arrived <- struct{}{}
				<-r.Context().Done()
				return true
			})
			done := make(chan string, 1)
			go func() { done <- outcome(w.up("a").Call(ctx, legacyCaller(), plainCall())) }()
			<-arrived
			tc.end(w, srv, cancel)
			if got := <-done; got != tc.want || calls.Load() != 1 {
				t.Errorf("%s after %d calls", got, calls.Load())
			}
		})
	}
}
