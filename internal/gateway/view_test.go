package gateway

import (
	"testing"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
)

// Requests outside any session share what they see, as long as that is the same
// and they are the same to us.
func TestViewsOutsideSessions(t *testing.T) {
	gw := newGateway(t, nil, nil)
	open := func(o Opening) *Session {
		t.Helper()
		o.Schema = config.DefaultSchema
		s, err := gw.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	seen := func(string, string) bool { return true }
	first := open(Opening{Principal: "a"}).look()
	if open(Opening{Principal: "a"}).look() != first {
		t.Error("the second request of a client has another view")
	}
	for name, o := range map[string]Opening{
		"another client":   {Principal: "b"},
		"another mode":     {Principal: "a", Mode: "compact"},
		"who may see less": {Principal: "a", Scope: "x", Visible: catalog.Visible(seen)},
		"a session":        {Principal: "a", Session: true},
	} {
		if open(o).look() == first {
			t.Errorf("%s has the same view", name)
		}
	}
	gw.set.Apply(gw.config(), nil)
	if next := open(Opening{Principal: "a"}).look(); next == first || next.revision == first.revision {
		t.Errorf("the same view at revisions %d and %d", first.revision, next.revision)
	}
	if n := len(gw.views.outside); n != 1 {
		t.Errorf("%d views are kept", n)
	}
}
