package api

import (
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMatchSegments(t *testing.T) {
	a := &Router{Routes: []Route{{Method: "GET", Pattern: "servers/{schema}/{name}"}}}
	r := httptest.NewRequest("GET", Prefix+"servers/default/a%2Fb", nil)
	_, params, _ := a.Find(r)
	if diff := cmp.Diff(map[string]string{"schema": "default", "name": "a/b"}, params); diff != "" {
		t.Error(diff)
	}
}
