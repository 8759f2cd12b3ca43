package probe_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/probe"
)

// A server of the official SDK asks for the roots right after the handshake, on
// the stream outside any call.
func TestRootsAreAskedForOutsideCalls(t *testing.T) {
	roots := make(chan string, 1)
	server := mcp.NewServer(&mcp.Implementation{Name: "asks", Version: "1"}, &mcp.ServerOptions{
		InitializedHandler: func(_ context.Context, req *mcp.InitializedRequest) {
			go func() {
				for t.Context().Err() == nil { // requests before the stream is open are lost
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					//lint:ignore SA1019 legacy servers ask for roots
					list, err := req.Session.ListRoots(ctx, nil)
					cancel()
					if err == nil && len(list.Roots) == 1 {
						roots <- list.Roots[0].URI
						return
					}
				}
			}()
		},
	})
	mcp.AddTool(server, &mcp.Tool{Name: "root"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		select {
		case uri := <-roots:
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: uri}}}, nil, nil
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.CloseClientConnections)
	t.Run("true/3 the tester hears it", func(t *testing.T) {
		s, err := probe.Open(t.Context(), probe.Target{Name: "asks", URL: web.URL}, probe.Options{Protocol: "legacy", Roots: []config.Root{{URI: "file:///mine"}}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close(t.Context())
		x, err := s.Call(t.Context(), "tools/call", []byte(`{"name":"root","arguments":{}}`), probe.CallOptions{Idle: 20e9, Limit: 20e9})
		if err != nil || x.Err != nil || string(x.Result) == "" {
			t.Fatalf("%v, %+v", err, x)
		}
		if want := `file:///mine`; !strings.Contains(string(x.Result), want) {
			t.Errorf("answered %s", x.Result)
		}
	})
}
