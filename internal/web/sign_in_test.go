package web

import (
	"net/http/httptest"
	"strings"
	"testing"

	"mcp-all-in-one/internal/web/api"
)

// The steps are a list even before the first step.
func TestSignInBeforeItsFirstStep(t *testing.T) {
	s := &signIns{last: map[string]*signIn{}}
	s.begin("default", "guarded")
	w := httptest.NewRecorder()
	a := api.Router{Routes: []api.Route{api.NewRoute("GET", "{schema}/{name}", api.ScopeNone, s.get)}}
	a.ServeHTTP(w, httptest.NewRequest("GET", api.Prefix+"default/guarded", nil))
	if got := w.Body.String(); !strings.Contains(got, `"steps":[]`) {
		t.Errorf("a sign-in that has just begun is %s", got)
	}
}
