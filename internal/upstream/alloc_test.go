//go:build !race && (linux || darwin)

package upstream_test

import (
	"context"
	"io"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/late"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/sparing"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/upstream"
)

// TestCallAllocations holds a call over HTTP to two allocations: the call, which
// what the server asks may outlive, and its response.
func TestCallAllocations(t *testing.T) {
	for _, tokens := range []bool{false, true} {
		var o worldOptions
		if tokens {
			o.tokens = oauth.NewKeeper(t.Context(), oauth.Options{Dir: t.TempDir()})
			defer o.tokens.Close()
		}
		w := newWorld(t, o, remote("up", sparing.Serve(t)))
		w.state("up", upstream.Ready)
		u, caller := w.up("up"), &upstream.Caller{Session: "s", Era: mcp.Legacy, Version: mcp.LatestLegacy}
		req := &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"echo","arguments":{"text":"hi"}}`)}
		contexts := make([]late.Context, 0, 1001)
		n := testing.AllocsPerRun(1000, func() {
			contexts = append(contexts, late.Context{})
			ctx := &contexts[len(contexts)-1]
			ctx.Init(t.Context())
			resp, err := u.Call(ctx, caller, req)
			if err != nil || string(resp.Result) != `{"content":[]}` {
				t.Fatal(resp, err)
			}
			resp.Release()
		})
		if n > 2 {
			t.Errorf("%v allocations, tokens %v", n, tokens)
		}
	}
}

// BenchmarkCall is a small call to a server over HTTP that costs next to
// nothing.
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
			ctx := new(late.Context)
			ctx.Init(parent)
			resp, err := u.Call(ctx, caller, req)
			if err != nil {
				b.Error(err)
				return
			}
			resp.Release()
		}
	})
}
