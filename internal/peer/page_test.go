package peer

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcp-all-in-one/internal/seal"
)

// TestPageLost checks that a page whose replica dies gets an HTTP error, not one of
// JSON-RPC with status 200.
func TestPageLost(t *testing.T) {
	t.Run("cluster/share/lost", func(t *testing.T) {
		a, b := pair(t, false, false, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			panic(http.ErrAbortHandler)
		})
		a.opt.HandleOwner = func(*seal.Box, string) string { return b.self.String() }
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader("code=x"))
		if !HandPage(a, w, r, "handle", []byte("code=x")) || w.Code != http.StatusServiceUnavailable || w.Body.Len() > 0 {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}
