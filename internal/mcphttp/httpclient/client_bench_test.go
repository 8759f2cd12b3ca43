package httpclient

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
)

// BenchmarkClientCall measures one small call to a net/http server that does
// nothing; both sides count.
func BenchmarkClientCall(b *testing.B) {
	for _, mode := range []string{"json", "sse", "floor"} {
		b.Run(mode, func(b *testing.B) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				msg := receive(r)
				if mode == "sse" {
					events(w)(`data: {"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, msg.ID)
					return
				}
				answerJSON(w, msg.ID, `{"content":[]}`)
			}))
			defer srv.Close()
			c := NewClient(ClientOptions{URL: srv.URL})
			defer c.Close(b.Context())
			req := &jsonrpc.Request{Method: "tools/call", Params: []byte(`{"name":"echo","arguments":{"text":"hi"}}`)}
			b.ReportAllocs()
			for b.Loop() {
				if mode == "floor" {
					r := c.server.request(b.Context(), http.MethodPost, c.server.state.Load().header, []byte(`{"jsonrpc":"2.0","id":1,"method":"x"}`))
					resp, err := c.server.rt.RoundTrip(r)
					if err != nil {
						b.Fatal(err)
					}
					discard(resp.Body)
					continue
				}
				resp, err := c.Call(b.Context(), req)
				if err != nil {
					b.Fatal(err)
				}
				resp.Release()
			}
		})
	}
}
