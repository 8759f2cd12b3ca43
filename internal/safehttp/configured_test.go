package safehttp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestConfigured checks that a request to a configured address is sent nowhere
// else.
func TestConfigured(t *testing.T) {
	port, connections := canary(t)
	var to string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusPermanentRedirect)
	}))
	t.Cleanup(srv.Close)
	c := NewConfigured(time.Minute)
	t.Cleanup(c.CloseIdleConnections)
	for _, to = range forms(t, port) {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			req, err := http.NewRequestWithContext(t.Context(), method, srv.URL, strings.NewReader("secret"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer secret")
			resp, err := c.Do(req)
			if err != nil {
				continue // the Location is no valid URL
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusPermanentRedirect {
				t.Errorf("fault/T27: a %s was answered %d from %q", method, resp.StatusCode, to)
			}
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("fault/T27: %d connections to the canary", n)
	}
}
