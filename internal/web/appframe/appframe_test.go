package appframe

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// TestAppFrame checks that the policy of the frame matches the resource's
// request.
func TestAppFrame(t *testing.T) {
	frame := func(t *testing.T, csp string) string {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:3095"+Path+"?csp="+url.QueryEscape(csp), nil)
		w := httptest.NewRecorder()
		must.OK(t, Serve(w, r))
		return w.Header().Get("Content-Security-Policy")
	}
	t.Run("nothing asked, nothing given", func(t *testing.T) {
		policy := frame(t, "")
		must.Contain(t, policy, "sandbox allow-scripts allow-forms;", "default-src 'none'", "connect-src blob: data:", "frame-src 'none'", "frame-ancestors 'self'")
		if strings.Contains(policy, "allow-same-origin") || strings.Contains(policy, "'self' ") || strings.Contains(policy, "unsafe-eval") {
			t.Error("too much:", policy)
		}
	})
	t.Run("what is asked", func(t *testing.T) {
		policy := frame(t, `{"connectDomains":["https://*.openstreetmap.org"],"resourceDomains":["https://cesium.com"],"frameDomains":["https://example.com"]}`)
		must.Contain(t, policy, "connect-src blob: data: https://*.openstreetmap.org;", "img-src blob: data: https://cesium.com;", "script-src 'unsafe-inline' blob: data: 'unsafe-eval' https://cesium.com;", "frame-src https://example.com;")
	})
	t.Run("no other directive, no wildcard, not the gateway", func(t *testing.T) {
		policy := frame(t, `{"connectDomains":["https://a.example; script-src *","*","'self'","http://127.0.0.1:3095","https:","javascript:alert(1)"]}`)
		if !strings.Contains(policy, "connect-src blob: data:;") {
			t.Error(policy)
		}
	})
}
