package mcphttp_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcptest/must"
)

// trivial answers all requests with the same result.
type trivial struct{ resp *jsonrpc.Response }

func (s trivial) Handle(context.Context, jsonrpc.Peer, *jsonrpc.Request) (*jsonrpc.Response, error) {
	return s.resp, nil
}
func (trivial) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}
func (trivial) Version() string                                                         { return mcp.V2025_06_18 }
func (trivial) Close()                                                                  {}

func BenchmarkPost(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w := newWorld(b, mcphttp.ServerLimits{})
			w.handler = trivial{&jsonrpc.Response{Result: []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}`)}}
			id := w.initialize(mcp.V2025_06_18)
			conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/mcp"))
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			text := callBody(1, "echo", "x", 0)
			request := fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: %s\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s",
				conn.RemoteAddr(), both, id, len(text), text)
			r := bufio.NewReaderSize(conn, 64<<10)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := conn.Write(request); err != nil {
					b.Fatal(err)
				}
				must.OK(b, skipAnswer(r))
			}
		})
	}
}

// skipAnswer reads one response with a Content-Length, without allocating.
func skipAnswer(r *bufio.Reader) error {
	n := 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if rest, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			for _, c := range bytes.TrimSpace(rest) {
				n = 10*n + int(c-'0')
			}
		}
		if len(line) == 2 {
			_, err := r.Discard(n)
			return err
		}
	}
}

func TestIdleSessionsAreCheap(t *testing.T) {
	t.Run("fault/F20", func(t *testing.T) {
		w := newWorld(t, mcphttp.ServerLimits{})
		addr := strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/mcp")
		ids := make([]string, 300)
		for i := range ids {
			ids[i] = w.initialize(mcp.V2025_06_18)
		}
		w.tr.CloseIdleConnections()
		memory, goroutines := inUse(), runtime.NumGoroutine()
		conns := make([]net.Conn, len(ids))
		for i, id := range ids {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			conns[i] = conn
			defer conn.Close()
			fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n", addr, id)
			if _, err := io.ReadFull(conn, make([]byte, 15)); err != nil {
				t.Fatal(err)
			}
		}
		must.Await(t, "all streams open", func() bool { return streams(w) == len(ids) })
		if n := float64(runtime.NumGoroutine()-goroutines) / float64(len(ids)); n > 2.05 {
			t.Errorf("%.2f goroutines a stream", n)
		}
		each := (inUse() - memory) / int64(len(ids))
		t.Logf("%d bytes an idle stream", each)
		if each > 20<<10 {
			t.Errorf("%d bytes an idle stream", each)
		}
	})
}

func streams(w *world) (n int) {
	for _, info := range w.srv.Sessions() {
		n += info.Streams
	}
	return n
}

func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
