package gateway

import (
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/receipt"
)

// A Lens is what one connected session is shown, for a person who looks over its
// shoulder.
type Lens struct {
	receipt.Receipt
	// Listed are the names of the tools and prompts that it is shown.
	Listed []string `json:"listed"`
}

// Lens looks through the eyes of a connected session; false when it is gone.
func (g *Gateway) Lens(session string) (Lens, bool) {
	g.mu.Lock()
	var found *Session
	for s := range g.sessions {
		if s.caller.Session == session {
			found = s
		}
	}
	g.mu.Unlock()
	if found == nil {
		return Lens{}, false
	}
	v := found.look()
	l := Lens{Receipt: found.account.receipt(), Listed: []string{}}
	for kind, visible := range map[catalog.Kind]catalog.Visible{catalog.Tools: found.visible(), catalog.Prompts: found.readable()} {
		list := v.Shown.List(kind, catalog.View{Version: found.Version(), Visible: visible})
		for item := range jsonrpc.Elements(jsonrpc.AsArray(jsonrpc.Get(list, kind.Member()))) {
			name, _ := jsonrpc.GetString(item, "name")
			l.Listed = append(l.Listed, name)
		}
	}
	return l, true
}

// Fits says how the tools of a schema suit the clients that are known.
func (g *Gateway) Fits(schema string) []receipt.Fit {
	s, err := g.Open(Opening{Who: g.owner(), Schema: schema, Stdio: g.opt.Greeting != nil})
	if err != nil {
		return []receipt.Fit{}
	}
	return receipt.Fits(s.look().Shown)
}
