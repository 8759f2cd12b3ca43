package add

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// Every route is described in the API description.
func TestOpenAPIDescribesEveryRoute(t *testing.T) {
	text := must.Read(t, "../openapi.json")
	var doc struct {
		Paths map[string]map[string]struct{ Description string }
	}
	must.Parse(t, text, &doc)
	described := 0
	for path := range doc.Paths {
		if strings.HasPrefix(path, "/add/") {
			described++
		}
	}
	routes := New(nil, nil).Routes()
	if described != len(routes) {
		t.Errorf("%d parts are described, there are %d", described, len(routes))
	}
	for _, r := range routes {
		if got := doc.Paths["/"+r.Pattern][strings.ToLower(r.Method)].Description; got != "scope: "+r.Scope {
			t.Errorf("%s %s: %q, and it needs %s", r.Method, r.Pattern, got, r.Scope)
		}
	}
}
