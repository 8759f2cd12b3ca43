package appframe

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestAppFrame checks that the policy of the frame matches the resource's
// request.
func TestAppFrame(t *testing.T) {
	frame := func(t *testing.T, csp string) string {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:3095"+Path+"?csp="+url.QueryEscape(csp), nil)
		w := httptest.NewRecorder()
		if err := Serve(w, r); err != nil {
			t.Fatal(err)
		}
		return w.Header().Get("Content-Security-Policy")
	}
	t.Run("nothing asked, nothing given", func(t *testing.T) {
		policy := frame(t, "")
		for _, want := range []string{"sandbox allow-scripts allow-forms;", "default-src 'none'", "connect-src blob: data:", "frame-src 'none'", "frame-ancestors 'self'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("no %q in %s", want, policy)
			}
		}
		if strings.Contains(policy, "allow-same-origin") || strings.Contains(policy, "'self' ") || strings.Contains(policy, "unsafe-eval") {
			t.Error("too much:", policy)
		}
	})
	t.Run("what is asked", func(t *testing.T) {
		policy := frame(t, `{"connectDomains":["https://*.openstreetmap.org"],"resourceDomains":["https://cesium.com"],"frameDomains":["https://example.com"]}`)
		for _, want := range []string{"connect-src blob: data: https://*.openstreetmap.org;", "img-src blob: data: https://cesium.com;", "script-src 'unsafe-inline' blob: data: 'unsafe-eval' https://cesium.com;", "frame-src https://example.com;"} {
			if !strings.Contains(policy, want) {
				t.Errorf("no %q in %s", want, policy)
			}
		}
	})
	t.Run("no other directive, no wildcard, not the gateway", func(t *testing.T) {
		policy := frame(t, `{"connectDomains":["https://a.example; script-src *","*","'self'","http://127.0.0.1:3095","https:","javascript:alert(1)"]}`)
		if !strings.Contains(policy, "connect-src blob: data:;") {
			t.Error(policy)
		}
	})
}
