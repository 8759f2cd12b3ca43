package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// asking blocks in the client until the question is canceled.
type asking struct{ arrived chan struct{} }

func (a asking) Handle(ctx context.Context, _ jsonrpc.Peer, _ *jsonrpc.Request) (*jsonrpc.Response, error) {
	a.arrived <- struct{}{}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (asking) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

// yes accepts every question.
type yes struct{}

func (yes) Handle(context.Context, jsonrpc.Peer, *jsonrpc.Request) (*jsonrpc.Response, error) {
	return &jsonrpc.Response{Result: []byte(`{"action":"accept","content":{}}`)}, nil
}

func (yes) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

const asksName = `"resultType":"input_required","requestState":"s","inputRequests":` +
	`{"q":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}}`

// TestModernCallEnds ends a call of a legacy client to a modern server in each
// phase: while the server works on it, while the client is asked, and while the
// server gets the answer.
func TestModernCallEnds(t *testing.T) {
	errWhy := errors.New("why")
	for _, at := range []string{"first", "question", "again"} {
		for _, tc := range []struct {
			name string
			end  func(w *world, srv *httptest.Server, cancel func(error))
			want string
		}{
			{"cancelled", func(_ *world, _ *httptest.Server, cancel func(error)) { cancel(errWhy) }, "why"},
			{"too long", func(*world, *httptest.Server, func(error)) {}, string(mcp.UpstreamTimeout)},
			{"server gone", func(_ *world, srv *httptest.Server, _ func(error)) {
				srv.Listener.Close()
				srv.CloseClientConnections()
			}, string(mcp.UpstreamClosed)},
		} {
			if at == "question" && tc.name == "server gone" {
				continue // it is noticed only after the client has answered
			}
			t.Run(fmt.Sprint(at, " ", tc.name), func(t *testing.T) {
				t.Parallel()
				y, arrived := newToy(), make(chan struct{}, 1)
				y.modern = true
				srv := httptest.NewServer(y)
				t.Cleanup(srv.Close)
				w := newWorld(t, worldOptions{limits: func(l *config.Limits) { l.InFlightPerServer, l.CallTotal = 1, 2*time.Second }}, remote("a", srv.URL))
				w.state("a", upstream.Ready)
				w.echo("a", "warm")
				y.answers(asksName)
				y.bendTo(stopping(at, arrived))
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				c := &upstream.Caller{Session: "1", Version: mcp.LatestLegacy, Offer: mcp.Offer{Elicit: true}}
				req := plainCall()
				if req.Back = (yes{}); at == "question" {
					req.Back = asking{arrived}
				}
				done := make(chan string, 1)
				go func() { done <- outcome(w.up("a").Call(ctx, c, req)) }()
				<-arrived
				tc.end(w, srv, cancel)
				if got := <-done; got != tc.want || w.up("a").Status().Running != 0 {
					t.Errorf("%s, %d run", got, w.up("a").Status().Running)
				}
			})
		}
	}
}

// stopping makes a server hang in the first call or in the call with the answer.
func stopping(at string, arrived chan struct{}) func(http.ResponseWriter, *http.Request, string, int) bool {
	return func(_ http.ResponseWriter, r *http.Request, _ string, n int) bool {
		if n == 1 && at != "first" {
			return false
		}
		arrived <- struct{}{}
		<-r.Context().Done()
		return true
	}
}
