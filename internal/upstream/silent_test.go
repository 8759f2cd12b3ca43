package upstream_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// TestSilentServer checks that requests besides calls end too, when a server does not
// answer them.
func TestSilentServer(t *testing.T) {
	y := newToy()
	y.offers = `,"logging":{}`
	ended := make(chan struct{})
	y.bend = func(_ http.ResponseWriter, _ *http.Request, method string, _ int) bool {
		switch method {
		case mcp.MethodSubscribe, mcp.MethodUnsubscribe, mcp.MethodSetLevel:
			<-ended
			return true
		}
		return false
	}
	srv := httptest.NewServer(y)
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(ended) })
	w := newWorld(t, worldOptions{limits: func(l *config.Limits) { l.CallIdle = 300 * time.Millisecond }}, remote("a", srv.URL))
	w.state("a", upstream.Ready)
	c, who := legacyCaller(), &heard{}
	for name, ask := range map[string]func() error{
		"subscribe": func() error { _, _, err := w.up("a").Subscribe(t.Context(), c, "toy://one", who); return err },
		"set level": func() error { return w.up("a").SetLevel(t.Context(), c, "debug") },
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan error, 1)
			go func() { done <- ask() }()
			select {
			case err := <-done:
				if err == nil {
					t.Error("it succeeded")
				}
			case <-time.After(20 * time.Second):
				t.Error("it has not ended")
			}
		})
	}
}
