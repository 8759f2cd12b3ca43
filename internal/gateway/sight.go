package gateway

import (
	"slices"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/upstream"
)

// unfiltered says that the principal sees everything, so that its lists and
// names need no filter.
func (s *Session) unfiltered() bool { return s.scope == "" }

// seesServer says whether the principal sees anything of a server.
func (o *Opening) seesServer(server string) bool {
	return o.Who.MaySee(o.Schema, server, "")
}

// seesTool says whether the principal may call a tool of a server. Our own
// tools are shown by other rules.
func (s *Session) seesTool(server, tool string) bool {
	if server == builtin.Server {
		return true
	}
	who := &s.opening.Who
	return who.MayCall(s.opening.Schema, server, tool, who.ReadOnly && s.readOnly(server, tool))
}

// readOnly says whether the server calls a tool read-only.
func (s *Session) readOnly(server, tool string) bool {
	u := s.upstream(server)
	if u == nil {
		return false
	}
	features := u.Features(s.caller)
	if features == nil {
		return false
	}
	i := slices.IndexFunc(features.Tools, func(t catalog.Item) bool { return t.Key == tool })
	return i >= 0 && isReadOnly(&features.Tools[i])
}

func isReadOnly(tool *catalog.Item) bool {
	return string(jsonrpc.Get(tool.Annotations, "readOnlyHint")) == "true"
}

// seesOther says whether the principal may use the prompts and resources of a
// server.
func (o *Opening) seesOther(server, _ string) bool {
	return server == builtin.Server || o.Who.MayRead(o.Schema, server)
}

// visible filters tools by what the principal sees; nil for everything.
func (s *Session) visible() catalog.Visible {
	if s.unfiltered() {
		return nil
	}
	return s.seesTool
}

// readable filters prompts and resources likewise.
func (s *Session) readable() catalog.Visible {
	if s.unfiltered() {
		return nil
	}
	return s.opening.seesOther
}

// sees is the filter for a kind of list.
func (s *Session) sees(kind catalog.Kind) catalog.Visible {
	if kind == catalog.Tools {
		return s.visible()
	}
	return s.readable()
}

// owner is the principal for what the gateway asks itself, for everybody: on
// stdio the one client there is.
func (g *Gateway) owner() access.Principal {
	if g.opt.Greeting != nil {
		return access.Local
	}
	return access.Anonymous
}

// upstreams are the servers that the session addresses and its principal sees.
func (s *Session) upstreams() []*upstream.Upstream {
	v := s.gw.set.Snapshot().Schema(s.opening.Schema)
	if v == nil {
		return nil
	}
	if s.opening.Server != "" {
		if u := v.Upstream(s.opening.Server); u != nil && s.opening.seesServer(u.Name()) {
			return []*upstream.Upstream{u}
		}
		return nil
	}
	if s.unfiltered() {
		return v.Upstreams
	}
	var list []*upstream.Upstream
	for _, u := range v.Upstreams {
		if s.opening.seesServer(u.Name()) {
			list = append(list, u)
		}
	}
	return list
}

// upstream returns one of the servers that the session addresses, or nil.
func (s *Session) upstream(name string) *upstream.Upstream {
	v := s.gw.set.Snapshot().Schema(s.opening.Schema)
	if v == nil {
		return nil
	}
	return v.Upstream(name)
}
