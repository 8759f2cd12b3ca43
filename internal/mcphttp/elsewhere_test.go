package mcphttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcptest"
)

// An ending session begins no call any more.
type ending struct{}

func (ending) Version() string { return mcp.V2025_06_18 }
func (ending) Close()          {}

func (ending) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

func (ending) Handle(_ context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if req.Method == mcp.MethodInitialize {
		return result(`{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"x","version":"1"}}`, mcp.V2025_06_18)
	}
	return nil, mcp.Failure(mcp.Draining, "", "the gateway is shutting down")
}

// TestHandedOn gives a call that a replica did not begin, because it ends, to
// another one.
func TestHandedOn(t *testing.T) {
	t.Run("fault/T46 a call that was not begun", func(t *testing.T) {
		var seen mcphttp.Away
		srv := mcphttp.NewServer(mcphttp.ServerOptions{
			Open: func(context.Context, *mcphttp.Opening) (mcphttp.Session, error) { return ending{}, nil },
			Elsewhere: func(w http.ResponseWriter, a *mcphttp.Away) mcphttp.Whereabouts {
				seen = *a
				seen.Body = append([]byte(nil), a.Body...)
				w.Header().Set("Content-Type", "application/json")
				w.Write([]byte(`{"jsonrpc":"2.0","id":7,"result":{"from":"another"}}`))
				return mcphttp.Answered
			},
		})
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			srv.ServeMCP(w, r, mcphttp.Endpoint{}, "who")
		}))
		t.Cleanup(func() { front.Close(); srv.Close() })
		c := mcptest.NewRawHTTP(t, front.URL)
		c.Initialize(mcp.V2025_06_18, `{}`)
		call := callBody(7, "echo", "hello", 0)
		if m := c.Post(call).Answer(t); string(m.Result) != `{"from":"another"}` {
			t.Errorf("answered %s", m.Raw)
		}
		if string(seen.Body) != call || seen.Session == "" || seen.Principal != "who" || string(seen.ID) != "7" {
			t.Errorf("handed on: %+v", seen)
		}
		if srv.Has(seen.Session) {
			t.Error("the session is still here")
		}
	})
}
