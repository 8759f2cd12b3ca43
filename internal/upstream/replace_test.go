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

// TestReplacedWhileStarting changes a server again while the one that should replace it
// still starts: the last configuration counts, and the ones in between are stopped.
func TestReplacedWhileStarting(t *testing.T) {
	fast := httptest.NewServer(newToy())
	t.Cleanup(fast.Close)
	for _, tt := range []struct{ name, last string }{{"edit", fast.URL + "/2"}, {"revert", fast.URL + "/1"}, {"remove", ""}} {
		t.Run(tt.name, func(t *testing.T) {
			slow := newToy()
			greeted, stopped := make(chan struct{}, 10), make(chan struct{}, 10)
			slow.bend = func(_ http.ResponseWriter, r *http.Request, method string, _ int) bool {
				if method != mcp.MethodInitialize {
					return false
				}
				greeted <- struct{}{}
				<-r.Context().Done()
				stopped <- struct{}{}
				return true
			}
			late := httptest.NewServer(slow)
			t.Cleanup(late.Close)
			first := remote("a", fast.URL+"/1")
			w := newWorld(t, worldOptions{}, first, remote("b", fast.URL))
			w.state("a", upstream.Ready)
			apply := func(servers ...*config.Server) {
				schema := config.NewSchema("default")
				schema.Enabled, schema.Servers = true, append(servers, remote("b", fast.URL))
				w.set.Apply(&config.Config{Schemas: []*config.Schema{schema}, Limits: config.DefaultLimits()}, nil)
			}
			apply(remote("a", late.URL))
			<-greeted
			if tt.last == "" {
				apply()
			} else {
				apply(remote("a", tt.last))
				w.await("the last one", "b", func(upstream.Status) bool { return w.up("a").Config().URL == tt.last })
			}
			if u := w.up("a"); (u == nil) != (tt.last == "") || u != nil && u.Config().URL != tt.last {
				t.Errorf("it runs with another configuration")
			}
			select {
			case <-stopped:
			case <-time.After(10 * time.Second): // less than a handshake may take
				t.Error("the one in between is not stopped")
			}
		})
	}
}
