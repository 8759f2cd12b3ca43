package safehttp

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
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
			resp, err := c.Do(must.Request(t, method, srv.URL, "secret", "Authorization", "Bearer secret"))
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
