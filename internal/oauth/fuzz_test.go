package oauth

import (
	"net/http"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
)

// FuzzChallenge checks that the metadata address taken from any WWW-Authenticate
// header is at the server's own origin.
//
// fault/T40
func FuzzChallenge(f *testing.F) {
	f.Add(`Bearer resource_metadata="https://hub.example/.well-known/x", scope="a b"`)
	f.Add(`Basic realm="x", Bearer error="insufficient_scope"`)
	f.Add(`Bearer resource_metadata="https://hub.example@evil.example/"`)
	f.Add(`bearer resource_metadata=https://hub.example:443/x,,a="\"`)
	f.Add(`Bearer`)
	f.Fuzz(func(t *testing.T, header string) {
		found := bearerChallenge(&http.Response{Header: http.Header{"Www-Authenticate": {header}}})
		named := found["resource_metadata"]
		if named == "" || origin(named) != origin("https://hub.example/mcp") {
			return
		}
		req, err := http.NewRequest(http.MethodGet, named, nil)
		if err == nil && !strings.EqualFold(strings.TrimSuffix(req.URL.Host, ":443"), "hub.example") {
			t.Fatalf("%q leads to %s", header, req.URL.Host)
		}
		s := &finder{server: &config.Server{URL: "https://hub.example/mcp"}}
		_ = s.usable(named)
	})
}
