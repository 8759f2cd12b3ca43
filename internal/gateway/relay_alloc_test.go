//go:build !race && linux

package gateway_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/mcptest/sparing"
	"mcp-all-in-one/internal/traffic"
)

// TestBetweenHTTPAllocations bounds what a call from a client over HTTP to a
// server over HTTP allocates in all: both of them allocate nothing.
func TestBetweenHTTPAllocations(t *testing.T) {
	for name, record := range map[string]*traffic.Recorder{"unrecorded": nil, "recorded": traffic.New(traffic.Options{})} {
		t.Run(name, func(t *testing.T) {
			to, _ := between(t, sparing.Serve(t), gateway.Options{Traffic: record})
			ask := asking(t, to)
			for range 100 {
				ask()
			}
			if n := testing.AllocsPerRun(1000, ask); n > maxBetween {
				t.Errorf("a call makes %v allocations, more than %v", n, maxBetween)
			}
		})
	}
}

// maxBetween is what was measured: the request of the client, what is done for
// it, the request to the server, and its response.
const maxBetween = 4

// asking opens a session on one connection, and returns what makes a call there.
func asking(t *testing.T, to string) (ask func()) {
	const opening = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"hi"}}}`
	const accept = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	r, _ := http.NewRequest(http.MethodPost, to, strings.NewReader(opening))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	at, _ := url.Parse(to)
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	msg := fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: %s\r\n%sMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s",
		at.Host, accept, resp.Header.Get("Mcp-Session-Id"), len(call), call)
	in, end := make([]byte, 4<<10), []byte(`{"jsonrpc":"2.0","result":{"content":[]},"id":1}`)
	return func() {
		if _, err := conn.Write(msg); err != nil {
			t.Fatal(err)
		}
		for n := 0; !bytes.Contains(in[:n], end); {
			more, err := conn.Read(in[n:])
			if err != nil || n == len(in) {
				t.Fatalf("%v after %s", err, in[:n])
			}
			n += more
		}
	}
}
