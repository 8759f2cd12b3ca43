package oauth

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
)

// freePort is a placeholder in tables for a free port.
const freePort = 1

func itoa(n int) string { return strconv.Itoa(n) }

func newServer(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}
