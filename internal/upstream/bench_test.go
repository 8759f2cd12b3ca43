package upstream_test

import (
	"context"
	"io"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/sparing"
	"mcp-all-in-one/internal/upstream"
)

// BenchmarkCall measures a small call over HTTP to a server with little overhead.
func BenchmarkCall(b *testing.B) {
	w := newWorld(b, worldOptions{log: io.Discard}, remote("up", sparing.Serve(b)))
	w.state("up", upstream.Ready)
	u, caller := w.up("up"), &upstream.Caller{Session: "s", Era: mcp.Legacy, Version: mcp.LatestLegacy}
	req := &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"echo","arguments":{"text":"hi"}}`)}
	parent, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			ctx, cancel := context.WithCancelCause(parent)
			resp, err := u.Call(ctx, caller, req)
			cancel(nil)
			if err != nil {
				b.Error(err)
				return
			}
			resp.Release()
		}
	})
}
