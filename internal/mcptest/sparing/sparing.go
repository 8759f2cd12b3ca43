// Package sparing is an HTTP server that answers a call without allocations,
// for tests that count the allocations of its client.
package sparing

import (
	"bytes"
	"net"
	"strconv"
	"testing"
)

// Serve runs a server until the test ends, and returns its URL.
func Serve(tb testing.TB) (url string) {
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
			go answer(conn)
		}
	}()
	return "http://" + ln.Addr().String() + "/mcp"
}

var results = []struct{ method, result string }{
	{`"method":"tools/call"`, `{"content":[]}`},
	{`"method":"initialize"`, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sparing","version":"1"}}`},
	{`"method":"tools/list"`, `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`},
}

func answer(conn net.Conn) {
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
		for _, r := range results {
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
