package safehttp

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// fault/T27: redirects
func TestRedirects(t *testing.T) {
	port, connections := canary(t)
	secure, plain, c := loopbackServers(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/hops/%d", &n); err == nil && n > 0 {
			http.Redirect(w, r, fmt.Sprintf("/hops/%d", n-1), http.StatusFound)
			return
		}
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		if referer := r.Header.Get("Referer"); referer != "" {
			t.Errorf("told %s", referer)
		}
		fmt.Fprint(w, "end")
	})
	here := "127.0.0.1:" + port
	tests := []struct {
		name   string
		path   string
		method string
		header http.Header
		ok     bool
	}{
		{name: "three", path: "/hops/3", ok: true},
		{name: "four", path: "/hops/4"},
		{name: "accept header", path: "/hops/1", header: http.Header{"Accept": {"application/json"}}, ok: true},
		{name: "authorization", path: "/hops/1", header: http.Header{"Authorization": {"Bearer x"}}},
		{name: "key", path: "/hops/1", header: http.Header{"X-Api-Key": {"x"}}},
		{name: "cookie", path: "/hops/1", header: http.Header{"Cookie": {"a=b"}}},
		{name: "POST", path: "/hops/1", method: http.MethodPost},
		{name: "to another port here", path: "/?to=https://" + here},
		{name: "to plain http here", path: "/?to=" + plain.URL},
		{name: "to another name of here", path: "/?to=" + strings.Replace(secure.URL, "127.0.0.1", "localhost", 1)},
		{name: "to metadata", path: "/?to=http://169.254.169.254/latest"},
		{name: "to a file", path: "/?to=file:///etc/passwd"},
		{name: "to a user", path: "/?to=https://a:b@" + here},
	}
	for _, tt := range tests {
		t.Run("fault/T27/"+tt.name, func(t *testing.T) {
			req := must.Request(t, tt.method, secure.URL+tt.path, "")
			if tt.header != nil {
				req.Header = tt.header
			}
			resp, err := c.Do(req)
			if err == nil {
				resp.Body.Close()
			}
			if (err == nil) != tt.ok {
				t.Errorf("error %v", err)
			}
			if !tt.ok && !errors.As(err, new(*RefusedError)) {
				t.Errorf("%v is not a refusal", err)
			}
		})
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("fault/T27: %d connections to the canary", n)
	}
}
