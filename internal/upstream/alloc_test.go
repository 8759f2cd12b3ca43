//go:build !race && (linux || darwin)

package upstream_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/late"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/upstream"
)

// sparing is a server over HTTP that allocates nothing to answer a call.
func sparing(tb testing.TB) (url string) {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go answerSparingly(conn)
		}
	}()
	return "http://" + ln.Addr().String() + "/mcp"
}

var sparingResults = []struct{ method, result string }{
	{`"method":"tools/call"`, `{"content":[]}`},
	{`"method":"initialize"`, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sparing","version":"1"}}`},
	{`"method":"tools/list"`, `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`},
}

func answerSparingly(conn net.Conn) {
	defer conn.Close()
	in, out, body := make([]byte, 64<<10), make([]byte, 0, 4<<10), make([]byte, 0, 4<<10)
	for {
		n, err := conn.Read(in)
		if err != nil {
			return
		}
		body = body[:0]
		_, id, asked := bytes.Cut(in[:n], []byte(`"id":`))
		id, _, _ = bytes.Cut(id, []byte(","))
		for _, r := range sparingResults {
			if asked && bytes.Contains(in[:n], []byte(r.method)) {
				body = append(append(append(body, `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...)
				body = append(append(body, r.result...), '}')
			}
		}
		status := "200 OK"
		switch {
		case in[0] != 'P':
			status = "405 Method Not Allowed"
		case !asked:
			status = "202 Accepted"
		case len(body) == 0:
			status = "400 Bad Request"
		}
		out = append(append(append(out[:0], "HTTP/1.1 "...), status...), "\r\nContent-Type: application/json\r\nContent-Length: "...)
		out = append(strconv.AppendInt(out, int64(len(body)), 10), "\r\n\r\n"...)
		if _, err := conn.Write(append(out, body...)); err != nil {
			return
		}
	}
}

// TestCallAllocations holds a call over HTTP to two allocations: the call, which
// what the server asks may outlive, and its response.
func TestCallAllocations(t *testing.T) {
	for _, tokens := range []bool{false, true} {
		var o worldOptions
		if tokens {
			o.tokens = oauth.NewKeeper(t.Context(), oauth.Options{Dir: t.TempDir()})
			defer o.tokens.Close()
		}
		w := newWorld(t, o, remote("up", sparing(t)))
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
	w := newWorld(b, worldOptions{log: io.Discard}, remote("up", sparing(b)))
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
