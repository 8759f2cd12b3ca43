package duplex

import (
	"context"
	"strings"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
)

func BenchmarkConn(b *testing.B) {
	for _, size := range []struct {
		name string
		n    int
	}{{"100B", 0}, {"10KB", 10_000}, {"1MB", 1_000_000}} {
		b.Run(size.name, func(b *testing.B) {
			result := []byte(`{"ok":true}`)
			c, _ := pair(b, nil, funcs{handle: func(context.Context, jsonrpc.Peer, *jsonrpc.Request) (*jsonrpc.Response, error) {
				return &jsonrpc.Response{Result: result}, nil
			}})
			params := []byte(`{"text":"` + strings.Repeat("x", size.n) + `"}`)
			req := &jsonrpc.Request{Method: "ping", Params: params}
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				resp, err := c.Call(ctx, req)
				if err != nil {
					b.Fatal(err)
				}
				resp.Release()
			}
		})
	}
}
