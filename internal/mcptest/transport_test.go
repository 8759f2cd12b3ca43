package mcptest_test

import (
	"context"
	"net/http/httptest"
	"os"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/stdio/lines"
)

func TestPipeKeepsTheContract(t *testing.T) {
	mcptest.TestTransport(t, mcptest.StreamDialer(func(*testing.T) (client, server jsonrpc.Stream) {
		return duplex.Pipe()
	}))
}

func TestStdioKeepsTheContract(t *testing.T) {
	mcptest.TestTransport(t, mcptest.StreamDialer(func(t *testing.T) (client, server jsonrpc.Stream) {
		down, downEnd := pipe(t)
		up, upEnd := pipe(t)
		return lines.NewStream(up, downEnd, lines.StreamOptions{}), lines.NewStream(down, upEnd, lines.StreamOptions{})
	}))
}

func pipe(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// opened is a session that uses the handler of the contract.
type opened struct{ jsonrpc.Handler }

func (opened) Version() string { return mcp.LatestLegacy }
func (opened) Close()          {}

// listen serves a handler over HTTP.
func listen(t *testing.T, server jsonrpc.Handler) string {
	front := mcphttp.NewServer(mcphttp.ServerOptions{
		Open: func(context.Context, *mcphttp.Opening) (mcphttp.Session, error) { return opened{server}, nil },
	})
	hs := httptest.NewServer(mcpserver.Routes(front))
	t.Cleanup(func() {
		front.Close()
		hs.Close()
	})
	return hs.URL
}

func TestStreamableHTTPKeepsTheContract(t *testing.T) {
	mcptest.TestTransport(t, func(t *testing.T, client, server jsonrpc.Handler) mcptest.Link {
		c := httpclient.NewClient(httpclient.ClientOptions{URL: listen(t, server) + "/mcp", Handler: client})
		open := &jsonrpc.Request{Method: mcp.MethodInitialize, Params: []byte(`{"protocolVersion":"2025-11-25","capabilities":{}}`)}
		if resp, err := c.Call(t.Context(), open); err != nil || resp.Err != nil {
			t.Fatalf("initialize: %v, %v", resp, err)
		}
		c.SetVersion(mcp.LatestLegacy)
		return mcptest.Link{Peer: c, Close: func() { c.Close(context.Background()) }}
	})
}

func TestSSEKeepsTheContract(t *testing.T) {
	mcptest.TestTransport(t, func(t *testing.T, client, server jsonrpc.Handler) mcptest.Link {
		stream, err := httpclient.DialSSE(t.Context(), httpclient.ClientOptions{URL: listen(t, server) + "/sse"})
		if err != nil {
			t.Fatal(err)
		}
		conn := duplex.NewConn(stream, duplex.ConnOptions{Handler: client, CancelMethod: mcp.NotificationCancelled})
		return mcptest.Link{Peer: conn, Close: func() { conn.Close() }}
	})
}
