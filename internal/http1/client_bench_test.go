//go:build linux || darwin

package http1

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
)

// BenchmarkClient measures one call over a kept connection. The server in this
// process answers without parsing. "floor" is a client that does not parse either:
// the cost of a client is the difference to it.
func BenchmarkClient(b *testing.B) {
	for _, size := range []int{100, 10 << 10} {
		answer := []byte(ok11 + "Content-Type: application/json\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: " +
			map[int]string{100: "100", 10 << 10: "10240"}[size] + "\r\n\r\n" + strings.Repeat("x", size))
		name := map[int]string{100: "100B/", 10 << 10: "10KB/"}[size]
		p := play(b, func(conn net.Conn, _ *bufio.Reader) {
			buf := make([]byte, 64<<10)
			for {
				n, err := conn.Read(buf)
				if err != nil || n == 0 {
					return
				}
				if _, err := conn.Write(answer); err != nil {
					return
				}
			}
		})
		b.Run(name+"floor", func(b *testing.B) { benchFloor(b, p, len(answer)) })
		b.Run(name+"wire", func(b *testing.B) {
			c := NewTransport(newTransport())
			defer c.CloseIdleConnections()
			benchCalls(b, c, p)
		})
		b.Run(name+"nethttp", func(b *testing.B) {
			tr := newTransport()
			defer tr.CloseIdleConnections()
			benchCalls(b, tr, p)
		})
	}
}

const benchBody = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}`

func benchCalls(b *testing.B, rt http.RoundTripper, p *player) {
	ctx := b.Context()
	base := newPost(ctx, p.url, benchBody)
	header := base.Header
	header["Accept"] = []string{"application/json, text/event-stream"}
	header["Mcp-Session-Id"] = []string{"0123456789abcdef"}
	b.ReportAllocs()
	b.SetParallelism(8)
	defer cpuPerCall(b)()
	b.RunParallel(func(pb *testing.PB) {
		buf := make([]byte, 64<<10)
		for pb.Next() {
			req := base.WithContext(ctx)
			req.Body, _ = base.GetBody()
			resp, err := rt.RoundTrip(req)
			if err != nil {
				b.Error(err)
				return
			}
			if _, err := io.ReadFull(resp.Body, buf[:resp.ContentLength]); err != nil {
				b.Error(err)
			}
			resp.Body.Close()
		}
	})
}

func benchFloor(b *testing.B, p *player, size int) {
	b.ReportAllocs()
	b.SetParallelism(8)
	defer cpuPerCall(b)()
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(p.url, "http://"), "/mcp"))
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close()
		request := []byte(strings.Repeat("x", 400))
		buf := make([]byte, size)
		for pb.Next() {
			if _, err := conn.Write(request); err != nil {
				b.Error(err)
			}
			if _, err := io.ReadFull(conn, buf); err != nil {
				b.Error(err)
			}
		}
	})
}

// cpuPerCall reports the CPU time of the process: on a busy machine it says more
// than the wall clock.
func cpuPerCall(b *testing.B) func() {
	begun := cpuTime(b)
	b.ResetTimer()
	return func() {
		b.ReportMetric(float64((cpuTime(b)-begun).Nanoseconds())/1e3/float64(b.N), "cpu-us/op")
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	must.OK(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
