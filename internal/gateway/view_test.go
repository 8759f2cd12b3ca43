package gateway

import (
	"runtime"
	"testing"
	"weak"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/late"
	"mcp-all-in-one/internal/mcp"
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

// A session that has called a tool does not keep alive what it saw then.
func TestOldViewsGo(t *testing.T) {
	gw := newGateway(t, nil, nil)
	s, err := gw.Open(Opening{Schema: config.DefaultSchema, Session: true})
	if err != nil {
		t.Fatal(err)
	}
	old := weak.Make(s.look())
	var ctx late.Context
	ctx.Init(t.Context())
	s.Relay(&ctx, new(jsonrpc.Turn), nobody{}, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"up__echo"}`)}, nothing{})
	if s.named.Load() == nil || old.Value() == nil {
		t.Fatal("the name was not looked up")
	}
	gw.set.Apply(gw.config(), nil)
	s.look()
	runtime.GC()
	if old.Value() != nil || s.named.Load() != nil {
		t.Error("it is still there")
	}
	runtime.KeepAlive(s)
}

type nothing struct{}

func (nothing) Complete(*jsonrpc.Turn, *jsonrpc.Response, error) {}
