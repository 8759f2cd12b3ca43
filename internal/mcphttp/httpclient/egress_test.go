package httpclient_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/mcptest"
)

// TestServerLeadsNowhere checks that data for a server is sent nowhere else,
// wherever the server redirects to.
func TestServerLeadsNowhere(t *testing.T) {
	canary := mcptest.NewCanary(t)
	var to atomic.Value // atomic: a server may still read it when the next round begins
	to.Store("")
	redirect := func(w http.ResponseWriter, status int) {
		w.Header().Set("Location", to.Load().(string))
		w.WriteHeader(status)
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprintf("fault/T27/streamable %d", status), func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" {
					w.Header().Set("Mcp-Session-Id", "s")
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
					return
				}
				redirect(w, status)
			}))
			defer srv.Close()
			for _, form := range canary.Forms {
				to.Store(form)
				c := httpclient.NewClient(httpclient.ClientOptions{URL: srv.URL + "/mcp", Header: http.Header{"X-Api-Key": {"k"}, "Authorization": {"Bearer t"}}})
				if _, err := c.Call(t.Context(), &jsonrpc.Request{Method: mcp.MethodInitialize}); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Call(t.Context(), &jsonrpc.Request{Method: mcp.MethodToolsCall}); err == nil {
					t.Errorf("a call was answered from %q", form)
				}
				c.OpenStream(t.Context())
				_ = c.Close(t.Context()) // its DELETE is redirected too
			}
		})
		t.Run(fmt.Sprintf("fault/T27/sse %d", status), func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { redirect(w, status) }))
			defer srv.Close()
			for _, form := range canary.Forms {
				to.Store(form)
				if s, err := httpclient.DialSSE(t.Context(), httpclient.ClientOptions{URL: srv.URL + "/sse"}); err == nil {
					s.Close()
					t.Errorf("connected to %q", form)
				}
			}
		})
	}
	t.Run("fault/T27/sse endpoint", func(t *testing.T) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost { // the endpoint was a path on this server after all
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", to.Load())
		}))
		defer srv.Close()
		for _, form := range canary.Forms {
			to.Store(form)
			if s, err := httpclient.DialSSE(t.Context(), httpclient.ClientOptions{URL: srv.URL + "/sse"}); err == nil {
				_ = s.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
				s.Close()
			}
		}
	})
}
