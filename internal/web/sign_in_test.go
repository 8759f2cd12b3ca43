package web

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// The page reads the steps as a list from the first moment on.
func TestSignInBeforeItsFirstStep(t *testing.T) {
	h := &Handler{}
	h.signIns = &signIns{h: h, last: map[string]*signIn{}}
	h.signIns.begin("default", "guarded")
	w := httptest.NewRecorder()
	h.getSignIn(w, &request{Request: httptest.NewRequest("GET", "/", nil), params: map[string]string{"schema": "default", "name": "guarded"}})
	if got := w.Body.String(); !strings.Contains(got, `"steps":[]`) {
		t.Errorf("a sign-in that has just begun is %s", got)
	}
}
