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
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/sparing"
	"mcp-all-in-one/internal/traffic"
)

// TestBetweenHTTPAllocations bounds what a call from a client over HTTP to a
// server over HTTP allocates in all: both of them allocate nothing.
func TestBetweenHTTPAllocations(t *testing.T) {
	for name, record := range map[string]*traffic.Recorder{"unrecorded": nil, "recorded": traffic.New(traffic.Options{})} {
		t.Run(name, func(t *testing.T) {
			to, _ := between(t, sparing.Serve(t), gateway.Options{Traffic: record})
			for era, most := range map[string]float64{"legacy": maxBetween, "modern": maxBridged} {
				ask := asking(t, to, era == "modern")
				for range 100 {
					ask()
				}
				if n := testing.AllocsPerRun(1000, ask); n > most {
					t.Errorf("a call of a %s client makes %v allocations, more than %v", era, n, most)
				}
			}
		})
	}
}

// maxBetween is what was measured: the request of the client, what is done for
// it, the request to the server, and its response. A modern client's has also to
// be kept, and to be freed of what the server does not know.
const (
	maxBetween = 4
	maxBridged = 9
)

// asking opens a session on one connection, or is a modern client, and returns what
// makes a call there.
func asking(t *testing.T, to string, modern bool) (ask func()) {
	if modern {
		const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"hi"},` +
			`"_meta":{"` + mcp.MetaVersion + `":"` + mcp.LatestModern + `","` + mcp.MetaCapabilities + `":{}}}}`
		const header = "Mcp-Protocol-Version: " + mcp.LatestModern + "\r\nMcp-Method: tools/call\r\nMcp-Name: up__echo\r\n"
		return repeating(t, to, header, call, `{"jsonrpc":"2.0","result":{"content":[],"resultType":"complete"},"id":1}`)
	}
	const opening = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"hi"}}}`
	r, _ := http.NewRequest(http.MethodPost, to, strings.NewReader(opening))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return repeating(t, to, "Mcp-Session-Id: "+resp.Header.Get("Mcp-Session-Id")+"\r\n", call, `{"jsonrpc":"2.0","result":{"content":[]},"id":1}`)
}

// repeating returns what sends the same over one connection each time.
func repeating(t *testing.T, to, header, call, want string) func() {
	const accept = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	at, _ := url.Parse(to)
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	msg := fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: %s\r\n%s%sContent-Length: %d\r\n\r\n%s", at.Host, accept, header, len(call), call)
	in, end := make([]byte, 4<<10), []byte(want)
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
