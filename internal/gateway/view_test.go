package gateway

import (
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
)

// TestViewsOutsideSessions checks that requests outside any session share a
// view, as long as the view and their principals are the same.
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
	a := access.Principal{ID: "a"}
	first := open(Opening{Who: a}).look()
	if open(Opening{Who: a}).look() != first {
		t.Error("the second request of a client has another view")
	}
	for name, o := range map[string]Opening{
		"another client":   {Who: access.Principal{ID: "b"}},
		"another mode":     {Who: access.Principal{ID: "a", Grant: access.Grant{Mode: "compact"}}},
		"who may see less": {Who: access.Principal{ID: "a", Grant: access.Grant{Servers: []string{"x"}}}},
		"a session":        {Who: a, Session: true},
	} {
		if open(o).look() == first {
			t.Errorf("%s has the same view", name)
		}
	}
	gw.set.Apply(gw.config(), nil)
	if next := open(Opening{Who: a}).look(); next == first || next.Revision == first.Revision {
		t.Errorf("the same view at revisions %d and %d", first.Revision, next.Revision)
	}
}
