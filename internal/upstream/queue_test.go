package upstream_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/upstream"
)

// TestPlacesOfOneKey uses a server that never ends the first call. The key of that
// call uses up its share, and no other key is affected.
func TestPlacesOfOneKey(t *testing.T) {
	caller := func(principal string) *upstream.Caller {
		return &upstream.Caller{Session: principal, Principal: principal, Version: mcp.LatestLegacy}
	}
	for name, tt := range map[string]struct {
		limits func(*config.Limits)
		first  string
		bound  bool
	}{
		"default":           {func(l *config.Limits) { l.InFlightPerServer, l.QueuedPerServer = 4, 4 }, "key:a", true},
		"set":               {func(l *config.Limits) { l.InFlightPerKey, l.QueuedPerKey = 1, 1 }, "token:a", true},
		"without a key":     {func(l *config.Limits) { l.InFlightPerServer, l.QueuedPerServer = 4, 4 }, "anonymous", false},
		"of the local user": {func(l *config.Limits) { l.InFlightPerServer, l.QueuedPerServer = 4, 4 }, "local", false},
	} {
		t.Run("door/14 "+name, func(t *testing.T) {
			y, begun, end := newToy(), make(chan struct{}), make(chan struct{})
			y.bend = func(_ http.ResponseWriter, _ *http.Request, method string, n int) bool {
				if method == mcp.MethodToolsCall && n == 1 {
					close(begun)
					<-end
				}
				return false
			}
			srv := httptest.NewServer(y)
			t.Cleanup(srv.Close)
			w := newWorld(t, worldOptions{limits: tt.limits}, remote("a", srv.URL))
			w.state("a", upstream.Ready)
			ask := func(who string) (string, error) {
				resp, err := w.up("a").Call(t.Context(), caller(who), &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"echo","arguments":{"message":"x"}}`)})
				if err != nil {
					return "", err
				}
				return string(resp.Result), nil
			}
			outcomes := make(chan error, 3)
			go func() {
				_, err := ask(tt.first)
				outcomes <- err
			}()
			<-begun
			for range 2 {
				go func() {
					_, err := ask(tt.first)
					outcomes <- err
				}()
			}
			err := <-outcomes // of the three calls, only one that is refused, or has no share limit, can end now
			if got := err != nil && reasonOf(err) == "overloaded"; got != tt.bound {
				t.Errorf("a third call: %v", err)
			}
			if said := fmt.Sprint(err); tt.bound && (!strings.Contains(said, "limits.inFlightPerKey") || !strings.Contains(said, "share")) {
				t.Errorf("%v does not say what to do", err)
			}
			if text, err := ask("key:b"); err != nil {
				t.Errorf("another key: %s, %v", text, err)
			}
			close(end)
			for range 2 {
				if err := <-outcomes; err != nil {
					t.Errorf("a call within the share: %v", err)
				}
			}
			if _, err := ask(tt.first); err != nil {
				t.Errorf("after they have ended: %v", err)
			}
		})
	}
}

// TestCutShortQueue checks that a waiting call does not begin when the gateway
// shuts down and cancels the running call before the waiting one.
func TestCutShortQueue(t *testing.T) {
	y, begun := newToy(), make(chan struct{}, 2)
	y.bend = func(_ http.ResponseWriter, r *http.Request, method string, n int) bool {
		if method == mcp.MethodToolsCall {
			begun <- struct{}{}
			if n == 1 {
				<-r.Context().Done()
			}
		}
		return false
	}
	srv := httptest.NewServer(y)
	t.Cleanup(srv.Close)
	w := newWorld(t, worldOptions{limits: func(l *config.Limits) { l.InFlightPerServer = 1 }}, remote("a", srv.URL))
	w.state("a", upstream.Ready)
	ask := func(ctx context.Context) <-chan error {
		ended := make(chan error, 1)
		go func() {
			caller := &upstream.Caller{Session: "s", Principal: "local", Version: mcp.LatestLegacy}
			_, err := w.up("a").Call(ctx, caller, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"echo","arguments":{"message":"x"}}`)})
			ended <- err
		}()
		return ended
	}
	ctx, cut := context.WithCancelCause(t.Context())
	running := ask(ctx)
	<-begun
	waiting := ask(t.Context())
	must.Await(t, "waiting call", func() bool { return w.up("a").Status().Queued == 1 })
	cut(mcp.CutShort)
	if err := <-running; err == nil {
		t.Error("the call that was cut short got a result")
	}
	if err := <-waiting; err == nil || reasonOf(err) != string(mcp.Draining) {
		t.Errorf("the waiting call: %v, want an error with the reason %q", err, mcp.Draining)
	}
	if len(begun) > 0 {
		t.Error("the waiting call began")
	}
}
