package origin_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcphttp/origin"
)

// guarded sends a request for host through a Guard, as if it came to
// 192.0.2.7:3095.
func guarded(g *origin.Guard, method, host string, secure bool, header ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := &http.Request{Method: method, Host: host, Header: http.Header{}, URL: &url.URL{Path: "/mcp"}}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	if secure {
		r.TLS = &tls.ConnectionState{}
	}
	ctx := context.WithValue(context.Background(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 3095})
	if g.Check(w, r.WithContext(ctx)) {
		w.WriteHeader(http.StatusOK)
	}
	return w
}

func TestGuard(t *testing.T) {
	public := &origin.Guard{}
	named := &origin.Guard{Hosts: []string{"gw.example", "other.example:3095"}, Origins: []string{"https://app.example", "http://app.example:8080"}}
	local := &origin.Guard{Loopback: true}
	for _, tc := range []struct {
		name   string
		guard  *origin.Guard
		host   string
		secure bool
		header []string
		status int
	}{
		{"any host off loopback", public, "whatever.example:3095", false, nil, 200},
		{"own address", local, "192.0.2.7:3095", false, nil, 200},
		{"another address", local, "192.0.2.8:3095", false, nil, 403},
		{"loopback with the wrong port", local, "127.0.0.1:3096", false, nil, 403},
		{"listed host", named, "GW.example:1", false, nil, 200},
		{"listed host and port", named, "other.example:3095", false, nil, 200},
		{"listed host, other port", named, "other.example:1", false, nil, 403},
		{"unlisted host", named, "evil.example", false, nil, 403},
		{"page of an address", public, "192.0.2.7:3095", false, []string{"Origin", "http://192.0.2.7:3095"}, 200},
		{"page of another port", public, "192.0.2.7:3095", false, []string{"Origin", "http://192.0.2.7:3096"}, 403},
		{"rebound page", public, "evil.example:3095", false, []string{"Origin", "http://evil.example:3095"}, 403},
		{"page of a listed host", named, "gw.example:3095", false, []string{"Origin", "http://gw.example:3095"}, 200},
		{"page over TLS", named, "gw.example", true, []string{"Origin", "https://gw.example"}, 200},
		{"page over TLS that a proxy took off", named, "gw.example", false, []string{"Origin", "https://gw.example"}, 200},
		{"page over TLS of a name that is not listed", public, "evil.example", false, []string{"Origin", "https://evil.example"}, 403},
		{"page over TLS of another listed host", named, "gw.example", false, []string{"Origin", "https://other.example:3095"}, 403},
		{"page without TLS to one with", named, "gw.example", true, []string{"Origin", "http://gw.example"}, 403},
		{"configured origin", named, "gw.example", false, []string{"Origin", "https://APP.example:443"}, 200},
		{"configured origin, other port", named, "gw.example", false, []string{"Origin", "http://app.example"}, 403},
		{"origin with a path", named, "gw.example", false, []string{"Origin", "https://app.example/x"}, 403},
		{"origin of another scheme", named, "gw.example", false, []string{"Origin", "ftp://gw.example:80"}, 403},
		{"bad origin", named, "gw.example", false, []string{"Origin", "http://[::1"}, 403},
		{"two Sec-Fetch-Site", named, "gw.example", false, []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Site", "cross-site"}, 403},
		{"any origin", &origin.Guard{AnyOrigin: true}, "x", false, []string{"Origin", "http://evil.example"}, 200},
		{"null with any origin", &origin.Guard{AnyOrigin: true}, "x", false, []string{"Origin", "null"}, 403},
		{"port of a proxy", &origin.Guard{Loopback: true, Port: 8080}, "localhost:8080", false, nil, 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if w := guarded(tc.guard, "POST", tc.host, tc.secure, tc.header...); w.Code != tc.status {
				t.Errorf("%d %s, want %d", w.Code, w.Body, tc.status)
			}
		})
	}
}

// TestGuardSaysTheWayOut checks that a refusal names the refused value and the
// setting that would allow it.
func TestGuardSaysTheWayOut(t *testing.T) {
	local := &origin.Guard{Loopback: true}
	if w := guarded(local, "POST", "gw.example:3095", false); !strings.Contains(w.Body.String(), `gw.example:3095`) || !strings.Contains(w.Body.String(), "server.hosts") {
		t.Errorf("host: %s", w.Body)
	}
	if w := guarded(local, "POST", "127.0.0.1:3095", false, "Origin", "https://app.example"); !strings.Contains(w.Body.String(), `https://app.example`) || !strings.Contains(w.Body.String(), "server.cors.origins") {
		t.Errorf("origin: %s", w.Body)
	}
}

func TestPreflight(t *testing.T) {
	ask := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "mcp-param-region, x-evil, mcp-param-, Mcp-Param-a b", "Access-Control-Request-Private-Network", "true"}
	named := &origin.Guard{Origins: []string{"https://app.example"}}
	w := guarded(named, "OPTIONS", "x", false, append(ask, "Origin", "https://app.example")...)
	h := w.Header()
	if w.Code != 204 || h.Get("Access-Control-Allow-Origin") != "https://app.example" || h.Get("Vary") != "Origin" {
		t.Errorf("%d %v", w.Code, h)
	}
	allowed := h.Get("Access-Control-Allow-Headers")
	for _, name := range []string{"Mcp-Session-Id", "MCP-Protocol-Version", "Last-Event-ID", "Mcp-Method", "Mcp-Name", "Authorization", "Content-Type", "mcp-param-region"} {
		if !strings.Contains(allowed+",", name+",") {
			t.Errorf("%s is not allowed: %s", name, allowed)
		}
	}
	if strings.Contains(allowed, "evil") || strings.Contains(allowed, "a b") || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("allowed too much: %v", h)
	}
	w = guarded(&origin.Guard{AnyOrigin: true}, "OPTIONS", "x", false, append(ask, "Origin", "https://any.example")...)
	if w.Code != 204 || w.Header().Get("Access-Control-Allow-Origin") != "*" || w.Header().Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	w = guarded(named, "POST", "x", false, "Origin", "https://app.example")
	if exposed := w.Header().Get("Access-Control-Expose-Headers"); !strings.Contains(exposed, "Mcp-Session-Id") {
		t.Errorf("exposed %q", exposed)
	}
}

func FuzzGuard(f *testing.F) {
	f.Add("localhost:3095", "http://localhost:3095")
	f.Add("[::1]:3095", "null")
	f.Add("[", "http://[::1")
	f.Add(":", "//")
	g := &origin.Guard{Loopback: true, Port: 3095}
	f.Fuzz(func(t *testing.T, host, site string) {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.URL.Host, r.Host = "", host
		r.Header["Origin"] = []string{site}
		if !g.Check(httptest.NewRecorder(), r) {
			return
		}
		bare := strings.TrimSuffix(strings.ToLower(host), ":3095")
		if bare != "localhost" && bare != "127.0.0.1" && bare != "[::1]" && bare != "::1" {
			t.Errorf("host %q passed", host)
		}
		if !strings.HasSuffix(strings.ToLower(site), "://"+"localhost:3095") && !strings.HasSuffix(site, "://127.0.0.1:3095") && !strings.HasSuffix(site, "://[::1]:3095") {
			t.Errorf("origin %q passed", site)
		}
	})
}
