package cli_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// A locked gateway requires keys.
type locked struct {
	*mcptest.Process
	host           string
	admin, revoked string
}

func newLocked(t *testing.T) *locked {
	t.Helper()
	dir, binary := t.TempDir(), mcptest.BuildProduct(t)
	path := filepath.Join(dir, "mcp.json")
	must.Write(t, path, fmt.Sprintf(`{"access":{"keys":%q},"mcpServers":{"one":{"command":%q,"args":["demo"]}}}`, filepath.Join(dir, "keys.json"), binary))
	env := []string{"HOME=" + dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="}
	run := func(args ...string) string {
		return output(t, env, append(args, "-c", path)...)
	}
	l := &locked{admin: run("key", "create", "boss", "--scope", "admin"), revoked: run("key", "create", "gone")}
	run("key", "revoke", "gone")
	l.Process = mcptest.Start(t, mcptest.Program{Path: binary, Args: []string{"http", "-p", "0", "-c", path, "--log-level", "error"}, Env: env})
	l.host = strings.TrimPrefix(l.Listening(), "http://")
	return l
}

// routes returns all served paths; those of the JSON API come from its
// description.
func routes(t *testing.T) []string {
	t.Helper()
	raw := must.Read(t, "../web/openapi.json")
	var doc struct{ Paths map[string]any }
	must.Parse(t, raw, &doc)
	list := []string{
		"/", "/mcp", "/mcp/", "/api/default/mcp", "/s/one/mcp", "/api/default/s/one/mcp", "/sse", "/message", "/api/default/sse", "/api/default/message",
		"/status", "/api/status", "/metrics", "/health", "/ready", "/ui", "/ui/", "/ui/index.html", "/nowhere",
	}
	for path := range doc.Paths {
		list = append(list, "/api/v1"+regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "default"))
	}
	return list
}

// methodsToTry returns all methods if TORTURE is set, otherwise a few.
func methodsToTry() []string {
	if os.Getenv("TORTURE") != "" {
		return []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"}
	}
	return []string{"GET", "POST"}
}

// raw sends a request as written and returns its status and header.
func (l *locked) raw(t *testing.T, method, target, header string) (int, http.Header) {
	t.Helper()
	conn, err := net.Dial("tcp", l.host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if !strings.Contains(header, "Host:") {
		header += "Host: " + l.host + "\r\n"
	}
	if !strings.Contains(header, "Content-Type:") {
		header += "Content-Type: application/json\r\n"
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	if method != "POST" && method != "PUT" && method != "PATCH" {
		body = ""
	}
	go fmt.Fprintf(conn, "%s %s HTTP/1.1\r\n%sAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", method, target, header, len(body), body)
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s %s %.200q: %v", method, target, header, err)
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header
}

// Without a key, only the public paths answer.
func TestRouteMatrix(t *testing.T) {
	t.Parallel()
	l := newLocked(t)
	bearer := "Authorization: Bearer "
	credentials := map[string]string{
		"none": "", "empty": "Authorization: \r\n", "no token": bearer + "\r\n", "wrong": bearer + "aio_wrong\r\n", "revoked": bearer + l.revoked + "\r\n",
		"basic": "Authorization: Basic " + l.admin + "\r\n", "raw": "Authorization: " + l.admin + "\r\n", "longer": bearer + l.admin + "x\r\n", "shorter": bearer + l.admin[:len(l.admin)-1] + "\r\n",
		"two headers": bearer + l.admin + "\r\n" + bearer + "aio_wrong\r\n", "other header": "X-Api-Key: " + l.admin + "\r\n", "cookie": "Cookie: aio_s=" + l.admin + "\r\n",
		"list": bearer + l.admin + ", Bearer aio_wrong\r\n", "huge": bearer + strings.Repeat("a", 60<<10) + "\r\n", "lower case": "authorization: bearer aio_wrong\r\n",
	}
	openPaths := map[string]bool{"/health": true, "/ready": true, "/ui": true, "/ui/": true, "/ui/index.html": true, "/api/v1/openapi.json": true}
	asked := 0
	for _, path := range routes(t) {
		for name, header := range credentials {
			for _, method := range methodsToTry() {
				asked++
				status, answer := l.raw(t, method, path, header)
				preflight := method == "OPTIONS" && answer.Get("Access-Control-Allow-Origin") == ""
				if status/100 == 2 && !openPaths[path] && !preflight {
					t.Errorf("fault/T29: %s %s with credential %q: %d", method, path, name, status)
				}
			}
		}
		for _, query := range []string{"?key=", "?apikey=", "?token=", "?access_token="} {
			asked++
			if status, _ := l.raw(t, "POST", path+query+l.admin, ""); status/100 == 2 && !openPaths[path] {
				t.Errorf("fault/T29: %s with the key in its query: %d", path, status)
			}
		}
	}
	t.Logf("%d requests", asked)
	if status, _ := l.raw(t, "POST", "/mcp", bearer+l.admin+"\r\n"); status != http.StatusOK {
		t.Errorf("the right key: %d", status)
	}
}

// A request with a valid key from another site is refused.
func TestOriginMatrix(t *testing.T) {
	t.Parallel()
	l := newLocked(t)
	key := "Authorization: Bearer " + l.admin + "\r\n"
	_, port, _ := net.SplitHostPort(l.host)
	hostile := map[string]int{
		"Origin: http://evil.example":                   403,
		"Origin: null":                                  403,
		"Origin: http://localhost.evil.example":         403,
		"Origin: http://127.0.0.1:6666":                 403,
		"Origin: https://127.0.0.1:" + port:             403,
		"Origin: http://127.0.0.1:" + port + "/x":       403,
		"Origin: http://evil.example@127.0.0.1:" + port: 403,
		"Origin:": 403,
		"Origin: http://127.0.0.1:" + port + "\r\nOrigin: http://evil.example": 400,
		"Sec-Fetch-Site: cross-site":                         403,
		"Host: evil.example:" + port:                         403,
		"Host: 127.0.0.1.nip.io:" + port:                     403,
		"Host: localhost.:" + port:                           403,
		"Host: 0.0.0.0:" + port:                              403,
		"Host: 2130706433:" + port:                           403,
		"Host: 127.0.0.1:1":                                  403,
		"Host: 127.0.0.1:" + port + "@evil.example":          403,
		"Host: 127.0.0.1:" + port + "\r\nHost: evil.example": 400,
	}
	asked := 0
	for _, path := range routes(t) {
		for header, want := range hostile {
			for _, method := range methodsToTry() {
				asked++
				status, answer := l.raw(t, method, path, key+header+"\r\n")
				if status != want && status != 400 { // an invalid Host is refused earlier
					t.Errorf("fault/T30: %s %s with %q: %d, want %d", method, path, header, status, want)
				}
				if answer.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("fault/T30: %s %s with %q: the page of another may read it", method, path, header)
				}
			}
		}
		if status, _ := l.raw(t, "GET", "http://evil.example"+path, key); status != 403 {
			t.Errorf("fault/T30: http://evil.example%s: %d", path, status)
		}
	}
	for _, path := range []string{"/mcp", "/api/default/mcp", "/s/one/mcp", "/message", "/api/v1/reload", "/api/v1/servers/default/one/restart"} {
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=utf-16", ""} {
			asked++
			if status, _ := l.raw(t, "POST", path, key+"Content-Type: "+kind+"\r\n"); status != http.StatusUnsupportedMediaType && !(status == 403 && strings.HasPrefix(path, "/api/v1/")) {
				t.Errorf("fault/T30: %s with the type %q: %d", path, kind, status)
			}
		}
	}
	// A load balancer that sends no host learns only whether the gateway is up.
	for path, want := range map[string]int{"/ready": 200, "/health": 200, "/status": 403, "/mcp": 403} {
		if status, _ := l.raw(t, "GET", path, key+"Host: \r\n"); status != want {
			t.Errorf("cluster/probe: %s without a host: %d, want %d", path, status, want)
		}
	}
	if status, _ := l.raw(t, "OPTIONS", "*", "Host: evil.example\r\n"); status != 403 {
		t.Errorf("fault/T30: OPTIONS * for another host: %d", status)
	}
	t.Logf("%d requests", asked)
}

// A listener that other machines can reach does not start without keys.
func TestOpenListenerRefuses(t *testing.T) {
	t.Parallel()
	lan := "192.0.2.1"
	if addrs, err := net.InterfaceAddrs(); err == nil {
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
				lan = n.IP.String()
			}
		}
	}
	starts := 0
	for _, host := range []string{"0.0.0.0", "::", "[::]", lan, "0", "000.0.0.0"} {
		for _, by := range []string{"flag", "file"} {
			starts++
			t.Run(fmt.Sprintf("fault/T30/%s by %s", host, by), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "mcp.json")
				content, args := `{"mcpServers":{}}`, []string{"http", "-p", "0", "--host", host}
				if by == "file" {
					content, args = fmt.Sprintf(`{"server":{"host":%q},"mcpServers":{}}`, host), args[:3]
				}
				must.Write(t, path, content)
				gw := mcptest.Start(t, mcptest.Product(t, append(args, "-c", path)...))
				if code := gw.Wait(20 * time.Second); code == 0 || !strings.Contains(gw.Stderr(), "access is not configured") {
					t.Errorf("exit code %d: %s", code, gw.Stderr())
				}
			})
		}
	}
	t.Logf("%d starts", starts)
}
