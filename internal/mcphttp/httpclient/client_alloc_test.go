//go:build !race && (linux || darwin)

package httpclient

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/sparing"
)

// TestClientAllocations checks the allocations of a small call: the message, the
// request and the response of net/http, and contexts.
func TestClientAllocations(t *testing.T) {
	url := sparing.Serve(t)
	plain := &jsonrpc.Request{Method: "tools/call", Params: []byte(`{"name":"echo","arguments":{"text":"hi"}}`)}
	for _, tc := range []struct {
		name   string
		modern bool
		most   float64
	}{
		{"legacy", false, 28},
		{"modern", true, 34},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := NewClient(ClientOptions{URL: url, Modern: tc.modern})
			defer c.Close(t.Context())
			n := testing.AllocsPerRun(200, func() {
				resp, err := c.Call(t.Context(), plain)
				if err != nil || string(resp.Result) != `{"content":[]}` {
					t.Fatal(resp, err)
				}
				resp.Release()
			})
			if n > tc.most {
				t.Errorf("%v allocations, at most %v", n, tc.most)
			} else {
				t.Logf("%v allocations", n)
			}
		})
	}
}

// BenchmarkClientShort is a small call to a server of almost no cost; "floor"
// writes and reads the same bytes.
func BenchmarkClientShort(b *testing.B) {
	url := sparing.Serve(b)
	b.Run("call", func(b *testing.B) {
		c := NewClient(ClientOptions{URL: url})
		defer c.Close(b.Context())
		req := &jsonrpc.Request{Method: "tools/call", Params: []byte(`{"name":"echo","arguments":{"text":"hi"}}`)}
		ctx := context.WithoutCancel(b.Context())
		b.ReportAllocs()
		for b.Loop() {
			resp, err := c.Call(ctx, req)
			if err != nil {
				b.Fatal(err)
			}
			resp.Release()
		}
	})
	b.Run("floor", func(b *testing.B) {
		conn, err := net.Dial("tcp", url[len("http://"):len(url)-len("/mcp")])
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		msg := append(bytes.Repeat([]byte("x"), 300), `"id":123,`...)
		in := make([]byte, 4096)
		for b.Loop() {
			if _, err := conn.Write(msg); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadAtLeast(conn, in, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}
