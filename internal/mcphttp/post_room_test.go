package mcphttp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcptest/must"
)

// unfinished sends most of a large body. finish sends the rest and reads the
// response.
func unfinished(t *testing.T, w *world, principal string) (finish func() (status int, body string)) {
	t.Helper()
	return unfinishedOf(t, w, principal, 1<<20)
}

func unfinishedOf(t *testing.T, w *world, principal string, size int) (finish func() (status int, body string)) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	body := append(bytes.Repeat([]byte(" "), size-len(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)), `{"jsonrpc":"2.0","id":1,"method":"ping"}`...)
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nTest-Principal: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: %s\r\nContent-Length: %d\r\n\r\n",
		conn.RemoteAddr(), principal, mcp.V2025_06_18, size)
	sent := make(chan error, 1)
	go func() {
		_, err := conn.Write(body[:size-1000])
		sent <- err
	}()
	return func() (int, string) {
		t.Helper()
		go func() {
			if <-sent == nil {
				_, _ = conn.Write(body[size-1000:]) // after a refusal the server does not read it
			}
		}()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
}

// TestShareOfUnfinishedBodies checks that bodies count for the key that sends them
// until they are answered.
func TestShareOfUnfinishedBodies(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{Body: 2 << 20, Unfinished: 3 << 20, Shares: func(who string) bool { return who != "local" }})
	var finish []func() (int, string)
	held := func() int64 { return w.srv.Unfinished("a") }
	for i := range 3 {
		finish = append(finish, unfinished(t, w, "a"))
		if i < 2 {
			must.Await(t, "the body to have its memory", func() bool { return held() >= int64(i+1)<<20 })
		}
	}
	t.Run("door/14 one body too many of a key", func(t *testing.T) {
		if status, body := finish[2](); status != 503 || !strings.Contains(body, "overloaded") || !strings.Contains(body, "limits.unfinishedPerKey") {
			t.Errorf("%d %s", status, body)
		}
	})
	t.Run("door/14 others are not bound by it", func(t *testing.T) {
		for _, who := range []string{"b", "local", "local", "local", "local"} {
			if status, body := unfinished(t, w, who)(); status != 200 {
				t.Errorf("%s: %d %s", who, status, body)
			}
		}
	})
	t.Run("door/14 what is answered is not counted", func(t *testing.T) {
		for _, f := range finish[:2] {
			if status, body := f(); status != 200 {
				t.Errorf("%d %s", status, body)
			}
		}
		must.Await(t, "the memory to be given back", func() bool { return held() == 0 })
		if status, body := unfinished(t, w, "a")(); status != 200 {
			t.Errorf("%d %s", status, body)
		}
	})
}

// TestBodiesInUsedBuffers checks that a body counts whole if it is read into a
// buffer that earlier bodies have used.
func TestBodiesInUsedBuffers(t *testing.T) {
	const size = 700 << 10
	w := newWorld(t, mcphttp.ServerLimits{Body: 2 << 20, Unfinished: 3 << 20, Shares: func(string) bool { return true }})
	for range 10 {
		finish := unfinishedOf(t, w, "a", size)
		must.Await(t, "the body to count", func() bool { return w.srv.Unfinished("a") >= size })
		if status, body := finish(); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		must.Await(t, "the memory to be given back", func() bool { return w.srv.Unfinished("a") == 0 })
	}
}
