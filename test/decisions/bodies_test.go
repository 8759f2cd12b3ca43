package decisions

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// A halfBody is a request to the console whose body has not arrived whole.
type halfBody struct {
	conn net.Conn
	rest string
	got  chan said
}

// said is the answer of the console.
type said struct {
	status int
	text   string
}

// half sends a request but for the end of its body. The key may be empty.
func (w *world) half(t *testing.T, as, path, begin, rest string) *halfBody {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.http.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nX-MCP-AIO: 1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", path, conn.RemoteAddr(), len(begin)+len(rest))
	if as != "" {
		head += "Authorization: Bearer " + w.keys[as].secret + "\r\n"
	}
	go io.WriteString(conn, head+"\r\n"+begin) // a refusal may come before all is sent
	h := &halfBody{conn, rest, make(chan said, 1)}
	go h.read()
	return h
}

// read reads the answer. The deadline of the connection bounds it.
func (h *halfBody) read() {
	resp, err := http.ReadResponse(bufio.NewReader(h.conn), nil)
	if err != nil {
		h.got <- said{text: err.Error()}
		return
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	h.got <- said{resp.StatusCode, string(raw)}
}

// finish sends the rest of the body and returns the answer.
func (h *halfBody) finish() said {
	go io.WriteString(h.conn, h.rest) // it may have been refused meanwhile
	return <-h.got
}

// TestConsoleBodies checks that a body for the console may not stall, and that
// one without a key is small.
func TestConsoleBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil, keyAdmin: {"admin"}})
	w.start(map[string]any{"mcpServers": map[string]any{server: w.entry(server, nil)}, "limits": map[string]any{"bodyIdle": "300ms"}})
	for name, as := range map[string]string{"without a key": "", "of a key": keyAnn} {
		t.Run("door/14 a body "+name+" that stalls", func(t *testing.T) {
			path := map[string]string{"": "login", keyAnn: "runs"}[as]
			if a := <-w.half(t, as, "/api/v1/"+path, `{"code":"A`, `"}`).got; a.status != http.StatusRequestTimeout {
				t.Errorf("%d %s", a.status, a.text)
			}
		})
	}
	t.Run("door/14 a large body without a key", func(t *testing.T) {
		large := `{"code":"` + strings.Repeat("A", 64<<10)
		if a := <-w.half(t, "", "/api/v1/login", large, `"}`).got; a.status != http.StatusRequestEntityTooLarge {
			t.Errorf("%d %s", a.status, a.text)
		}
	})
	t.Run("door/14 a login afterwards", func(t *testing.T) {
		if status, text := w.api("", http.MethodPost, "login", map[string]string{"code": "wrong"}); status != http.StatusUnauthorized {
			t.Errorf("%d %s", status, text)
		}
	})
}

// TestShareOfConsoleBodies checks that bodies for the console count for the key
// that sends them, together with its messages.
func TestShareOfConsoleBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil, keyBob: nil, keyAdmin: {"admin"}})
	w.start(map[string]any{"mcpServers": map[string]any{server: w.entry(server, nil)}, "limits": map[string]any{"unfinishedPerKey": "100KB"}})
	large := strings.Repeat(" ", 30<<10)
	send := func(as string) said {
		status, _, text := w.do(http.MethodPost, "/api/v1/runs", as, http.Header{"X-Mcp-Aio": {"1"}, "Content-Type": {"application/json"}}, []byte(large+"[]"))
		return said{status, string(text)}
	}
	// Of two bodies at the same time either may be the one too many. It is refused
	// before its end comes.
	first, second := w.half(t, keyAnn, "/api/v1/runs", large, "[]"), w.half(t, keyAnn, "/api/v1/runs", large, "[]")
	other := first
	var early said
	select {
	case early = <-first.got:
		other = second
	case early = <-second.got:
	}
	if early.status != http.StatusServiceUnavailable || !strings.Contains(early.text, "limits.unfinishedPerKey") {
		t.Errorf("door/14 the second body of a key: %d %s", early.status, early.text)
	}
	if bob := send(keyBob); bob.status != http.StatusOK {
		t.Errorf("door/14 others are not bound by it: %d %s", bob.status, bob.text)
	}
	if a := other.finish(); a.status != http.StatusOK {
		t.Errorf("door/14 the first body: %d %s", a.status, a.text)
	}
	w.until("the share is given back", func() bool {
		return send(keyAnn).status == http.StatusOK
	})
}

// TestConsoleWithoutMemory checks that imports and Bench sessions are refused to
// everybody while memory is short, and that pages are still shown.
func TestConsoleWithoutMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil, keyAdmin: {"admin"}})
	w.start(map[string]any{"mcpServers": map[string]any{server: w.entry(server, nil)}, "limits": map[string]any{"memory": "1MiB"}})
	direct := map[string]any{"target": map[string]any{"server": server}}
	through := map[string]any{"target": map[string]any{"server": server, "via": "gateway"}}
	for _, add := range []struct {
		as, path string
		body     any
	}{{keyAnn, "runs", []any{}}, {keyAdmin, "runs", []any{}}, {keyAnn, "bench", through}, {keyAdmin, "bench", direct}} {
		t.Run("door/9 "+add.path+" of "+add.as, func(t *testing.T) {
			raw, err := json.Marshal(add.body)
			if err != nil {
				t.Fatal(err)
			}
			for language, why := range map[string]string{"en": "short of memory", "zh-CN": "内存不足"} {
				header := http.Header{"X-Mcp-Aio": {"1"}, "Content-Type": {"application/json"}, "Accept-Language": {language}}
				status, h, text := w.do(http.MethodPost, "/api/v1/"+add.path, add.as, header, raw)
				if status != http.StatusServiceUnavailable || h.Get("Retry-After") == "" || !strings.Contains(string(text), `"overloaded"`) || !strings.Contains(string(text), why) {
					t.Errorf("%d, again after %q: %s", status, h.Get("Retry-After"), text)
				}
			}
		})
	}
	for _, path := range []string{"overview", "servers", "runs", "bench", "traffic", "config"} {
		t.Run("door/9 the page "+path, func(t *testing.T) {
			if status, text := w.api(keyAdmin, http.MethodGet, path, nil); status != http.StatusOK {
				t.Errorf("%d %s", status, text)
			}
		})
	}
}

// TestUploadsStall checks that bodies that are no JSON of the console may not
// stall either.
func TestUploadsStall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAdmin: {"admin"}})
	w.share = "http://127.0.0.1:3095"
	w.start(map[string]any{"mcpServers": map[string]any{server: w.entry(server, nil)}, "limits": map[string]any{"bodyIdle": "300ms"}})
	for name, path := range map[string]string{"bundle": "/api/v1/add/bundle?name=a.mcpb", "registration": "/oauth/register", "token": "/oauth/token"} {
		t.Run("door/14 a "+name+" that stalls", func(t *testing.T) {
			as := map[string]string{"bundle": keyAdmin}[name]
			if a := <-w.half(t, as, path, `{"`, `a":1}`).got; a.status < 400 || a.status >= 500 {
				t.Errorf("%d %s", a.status, a.text)
			}
		})
	}
}

// TestUnfinishedBodies checks that each request is answered and its connection
// closed although its body does not arrive, wherever it goes, with a key or without.
func TestUnfinishedBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil, keyAdmin: {"admin"}})
	w.start(map[string]any{"mcpServers": map[string]any{server: w.entry(server, nil)}, "limits": map[string]any{"bodyIdle": "300ms"}})
	paths := []string{
		"/", "/health", "/ready", "/status", "/metrics", "/nothing", "/v0.1/servers", "/ui", "/ui/", "/ui/value/x", "/sse", "/message",
		"/mcp", "/s/" + server + "/mcp", "/s/none/mcp", "/api/default/mcp", "/api/v1/login", "/api/v1/nothing", "/api/v1/bench", "/api/v1/runs", "/api/v1/traffic",
	}
	var all sync.WaitGroup
	places := make(chan struct{}, 40)
	for _, path := range paths {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodOptions} {
			for framing, begin := range map[string]string{"Content-Length: 1000": "{", "Transfer-Encoding: chunked": "1\r\n{\r\n", "Expect: x\r\nContent-Length: 1000": ""} {
				for _, as := range []string{"", keyAnn} {
					if as != "" && method == http.MethodGet && path == "/sse" {
						continue // the answer is a stream
					}
					places <- struct{}{}
					all.Go(func() {
						defer func() { <-places }()
						head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nX-MCP-AIO: 1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%s\r\n", method, path, strings.TrimPrefix(w.http.URL, "http://"), framing)
						if as != "" {
							head += "Authorization: Bearer " + w.keys[as].secret + "\r\n"
						}
						conn, err := net.Dial("tcp", strings.TrimPrefix(w.http.URL, "http://"))
						if err != nil {
							t.Error(err)
							return
						}
						defer conn.Close()
						conn.SetDeadline(time.Now().Add(patience))
						io.WriteString(conn, head+"\r\n"+begin)
						if n, err := io.Copy(io.Discard, conn); n == 0 || errors.Is(err, os.ErrDeadlineExceeded) {
							t.Errorf("door/14 %s %s, %s, as %q: %d bytes, %v", method, path, framing, as, n, err)
						}
					})
				}
			}
		}
	}
	all.Wait()
}

// TestUnfinishedBodiesOverHTTP2 checks the same over HTTP/2, without a key.
func TestUnfinishedBodiesOverHTTP2(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil})
	mcptest.NewCertificate(t, "127.0.0.1").Write(t, w.dir)
	w.start(map[string]any{
		"mcpServers": map[string]any{server: w.entry(server, nil)}, "limits": map[string]any{"bodyIdle": "300ms"},
		"server": map[string]any{"tls": map[string]any{"cert": "cert.pem", "key": "key.pem"}},
	})
	tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer tr.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, path := range []string{"/health", "/mcp", "/api/v1/login", "/api/v1/nothing", "/oauth/token"} {
		body, rest := io.Pipe()
		defer rest.Close()
		go rest.Write([]byte("{"))
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.http.URL+path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"X-Mcp-Aio": {"1"}, "Content-Type": {"application/json"}}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Errorf("door/14 %s: %v", path, err)
			continue
		}
		resp.Body.Close()
		if resp.ProtoMajor != 2 {
			t.Errorf("door/14 %s: %s", path, resp.Proto)
		}
	}
}
