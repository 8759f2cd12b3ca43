package gateway

import (
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/catalog/fit"
	"mcp-all-in-one/internal/jsonrpc"
)

// A Lens is what one connected session is shown, for a person who looks over its
// shoulder.
type Lens struct {
	Receipt
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
	l := Lens{Receipt: found.receipt(), Listed: []string{}}
	for kind, visible := range map[catalog.Kind]catalog.Visible{catalog.Tools: found.visible(), catalog.Prompts: found.readable()} {
		list := v.shown.List(kind, catalog.View{Version: found.Version(), Visible: visible})
		for item := range jsonrpc.Elements(jsonrpc.AsArray(jsonrpc.Get(list, kind.Member()))) {
			name, _ := jsonrpc.GetString(item, "name")
			l.Listed = append(l.Listed, name)
		}
	}
	return l, true
}

// A Fit is how a list of tools suits a client that has limits.
type Fit struct {
	Client string `json:"client"`
	// Tools is how many it is shown, MaxTools how many it takes at once; 0 for
	// any number.
	Tools    int `json:"tools"`
	MaxTools int `json:"maxTools,omitempty"`
	// MaxName is how long names may be, LongNames how many are longer.
	MaxName   int `json:"maxName,omitempty"`
	LongNames int `json:"longNames,omitempty"`
}

// Fits says how the tools of a schema suit the clients that are known.
func (g *Gateway) Fits(schema string) []Fit {
	s, err := g.Open(Opening{Who: g.owner(), Schema: schema, Stdio: g.opt.Greeting != nil})
	if err != nil {
		return []Fit{}
	}
	v := s.look()
	fits := []Fit{}
	seen := make(map[string]bool)
	for i := range clientLimits {
		l := &clientLimits[i]
		if seen[l.title] {
			continue
		}
		seen[l.title] = true
		most := fit.Of(l.fit).Length
		long, _ := longer(v.shown.List(catalog.Tools, catalog.View{}), most)
		fit := Fit{Client: l.title, Tools: v.shown.Count(catalog.Tools, catalog.View{}), MaxTools: l.tools, MaxName: most, LongNames: long}
		fits = append(fits, fit)
	}
	return fits
}
