package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestBehindProxy uses a gateway on this machine through a reverse proxy whose
// clients may be on other machines.
func TestBehindProxy(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), mcptest.BuildProduct(t)
	env := []string{"HOME=" + dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="}
	write := func(name, access string) string {
		return must.Write(t, filepath.Join(dir, name), fmt.Sprintf(`{%s"mcpServers":{"one":{"command":%q,"args":["demo"]}}}`, access, binary))
	}
	start := func(config string) string {
		gateway := mcptest.Start(t, mcptest.Program{Path: binary, Args: []string{"http", "-p", "0", "-c", config}, Env: env})
		return gateway.Listening()
	}
	open := start(write("open.json", ""))
	const list = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	ask := func(t *testing.T, method, address, body string, header ...string) (int, string) {
		t.Helper()
		header = append(header, "Content-Type", "application/json", "Accept", "application/json, text/event-stream", "X-MCP-AIO", "1")
		resp, err := http.DefaultClient.Do(must.Request(t, method, address, body, header...))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusOK && strings.Contains(resp.Header.Get("Content-Type"), "event-stream") && method == http.MethodGet {
			return resp.StatusCode, "" // the stream stays open
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	paths := []struct{ method, path, body string }{
		{"POST", "/mcp", list}, {"POST", "/api/default/mcp", list}, {"POST", "/s/one/mcp", list}, {"GET", "/sse", ""}, {"POST", "/message?sessionId=x", list},
		{"GET", "/api/v1/session", ""}, {"POST", "/api/v1/login", `{"code":"x"}`}, {"GET", "/ui/", ""}, {"GET", "/status", ""}, {"GET", "/metrics", ""}, {"GET", "/", ""},
	}
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Real-IP", "Via", "CF-Connecting-IP"} {
		for _, p := range paths {
			t.Run("door/16 "+header+" "+p.path, func(t *testing.T) {
				status, text := ask(t, p.method, open+p.path, p.body, header, "192.0.2.1")
				if status != http.StatusForbidden || !strings.Contains(text, "access.keys") || !strings.Contains(text, "proxy") {
					t.Errorf("%d %.300s", status, text)
				}
			})
		}
		for _, path := range []string{"/health", "/ready"} {
			if status, text := ask(t, "GET", open+path, "", header, "192.0.2.1"); status != http.StatusOK && status != http.StatusServiceUnavailable {
				t.Errorf("door/16 %s %s: %d %s", header, path, status, text)
			}
		}
	}
	proxied := func(address string) string {
		target, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.SetXForwarded()
		}})
		t.Cleanup(srv.Close)
		return srv.URL
	}
	t.Run("door/16 a proxy", func(t *testing.T) {
		if status, text := ask(t, "POST", proxied(open)+"/mcp", list); status != http.StatusForbidden {
			t.Errorf("%d %s", status, text)
		}
		if status, text := ask(t, "POST", open+"/mcp", list); status == http.StatusForbidden {
			t.Errorf("without it: %d %s", status, text)
		}
	})
	t.Run("door/16 a proxy and a key", func(t *testing.T) {
		keys := fmt.Sprintf(`"access":{"keys":%q},`, filepath.Join(dir, "keys.json"))
		config := write("keyed.json", keys)
		key := output(t, env, "key", "create", "one", "-c", config)
		address := proxied(start(config)) + "/mcp"
		if status, text := ask(t, "POST", address, list, "Authorization", "Bearer "+key); status == http.StatusForbidden || status == http.StatusUnauthorized {
			t.Errorf("with the key: %d %s", status, text)
		}
		if status, text := ask(t, "POST", address, list); status != http.StatusUnauthorized {
			t.Errorf("without: %d %s", status, text)
		}
	})
}
