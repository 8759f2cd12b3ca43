package gateway

import (
	"slices"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/catalog/fit"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway/cache"
	"mcp-all-in-one/internal/gateway/results"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/receipt"
	"mcp-all-in-one/internal/upstream"
)

// A sight is what the client of a session sees: its servers, and the parts of
// them that its principal may use.
type sight struct {
	identity
	scope string // what the principal sees, see access.Principal.Sight
}

// unfiltered reports whether the principal sees everything.
func (s *sight) unfiltered() bool { return s.scope == "" }

// seesServer reports whether the principal sees any part of a server.
func (o *Opening) seesServer(server string) bool {
	return o.Who.MaySee(o.Schema, server, "")
}

// seesTool reports whether the principal may call a tool of a server. It is true
// for our own tools, which have other rules.
func (s *sight) seesTool(server, tool string) bool {
	if server == builtin.Server {
		return true
	}
	who := &s.opening.Who
	return who.MayCall(s.opening.Schema, server, tool, who.ReadOnly && s.readOnly(server, tool))
}

// readOnly reports whether the server declares a tool read-only.
func (s *sight) readOnly(server, tool string) bool {
	u := s.upstream(server)
	if u == nil {
		return false
	}
	features := u.Features(s.caller)
	if features == nil {
		return false
	}
	i := slices.IndexFunc(features.Tools, func(t catalog.Item) bool { return t.Key == tool })
	return i >= 0 && features.Tools[i].ReadOnly()
}

// seesOther reports whether the principal may use prompts and resources.
func (o *Opening) seesOther(server, _ string) bool {
	return server == builtin.Server || o.Who.MayRead(o.Schema, server)
}

// visible returns the filter for tools; nil if the principal sees everything.
func (s *sight) visible() catalog.Visible {
	if s.unfiltered() {
		return nil
	}
	return s.seesTool
}

// readable returns the filter for prompts and resources, like visible.
func (s *sight) readable() catalog.Visible {
	if s.unfiltered() {
		return nil
	}
	return s.opening.seesOther
}

// sees returns the filter for a kind of list.
func (s *sight) sees(kind catalog.Kind) catalog.Visible {
	if kind == catalog.Tools {
		return s.visible()
	}
	return s.readable()
}

// owner returns the principal for requests that the gateway makes itself, not
// for a client. On stdio it is the principal of the only client.
func (g *Gateway) owner() access.Principal {
	if g.opt.Greeting != nil {
		return access.Local
	}
	return access.Anonymous
}

// upstreams returns the addressed servers that the principal sees.
func (s *sight) upstreams() []*upstream.Upstream {
	v := s.gw.set.Snapshot().Schema(s.opening.Schema)
	if v == nil {
		return nil
	}
	if s.opening.Server == "" && s.unfiltered() {
		return v.Upstreams
	}
	var list []*upstream.Upstream
	for _, u := range v.Upstreams {
		if (s.opening.Server == "" || s.opening.Server == u.Name()) && s.opening.seesServer(u.Name()) {
			list = append(list, u)
		}
	}
	return list
}

// upstream returns one of the servers that the session addresses, or nil.
func (s *sight) upstream(name string) *upstream.Upstream {
	v := s.gw.set.Snapshot().Schema(s.opening.Schema)
	if v == nil {
		return nil
	}
	return v.Upstream(name)
}

// standing returns a function of the name of a server. Its result changes when answers of
// the server to c may not be used any more.
func (s *sight) standing(c *upstream.Caller) func(server string) cache.Key {
	return func(server string) cache.Key { return cache.KeyOf(upstream.Standing(s.upstream(server), c)) }
}

// replaced returns the server that has replaced u since and runs, or nil.
func (s *sight) replaced(u *upstream.Upstream) *upstream.Upstream {
	if now := s.upstream(u.Name()); now != nil && now != u && !now.Away() {
		return now
	}
	return nil
}

// mode returns the mode of the session, in which its tools are listed.
func (s *sight) mode() string {
	if s.opening.Who.Mode != "" {
		return s.opening.Who.Mode
	}
	return s.schemaConfig().Mode
}

func (s *sight) schemaConfig() *config.Schema {
	if v := s.gw.set.Snapshot().Schema(s.opening.Schema); v != nil {
		return v.Config
	}
	return &config.Schema{}
}

// own returns our own tools, if the principal may use them.
func (s *sight) own() *builtin.Set {
	reads := s.reads()
	switch {
	case !s.opening.Who.MayConfigure() || s.gw.opt.Own == nil:
		if reads {
			return results.ReaderAlone
		}
		return nil
	case reads:
		return s.gw.ownReading()
	}
	return s.gw.opt.Own
}

// fit returns the limits of the client on tools; nil for none. The key decides,
// then the schema. The name that the client gives counts only in a legacy
// session: a modern request gets the same response for every sender. The
// endpoint of a single server shows what the server shows.
func (s *sight) fit(era mcp.Era) *fit.Dialect {
	if s.opening.Server != "" {
		return nil
	}
	name := s.opening.Who.Fit
	if name == "" {
		name = s.schemaConfig().Fit
	}
	if name != "auto" {
		return fit.Of(name)
	}
	if limits := receipt.LimitOf(s.clientName()); limits != nil && era == mcp.Legacy {
		return fit.Of(limits.Fit)
	}
	return nil
}

// reads reports whether results may be cut in this session, so that it needs a
// tool for the rest. The endpoint of a single server never cuts results.
func (s *sight) reads() bool {
	if s.opening.Server != "" {
		return false
	}
	if s.opening.Who.Results > 0 || s.gw.config().Results.Cuts() {
		return true
	}
	return s.schemaConfig().CutsResults()
}

func (s *sight) resultRules() results.Rules {
	file := &s.gw.config().Results
	return results.Rules{Key: s.opening.Who.Results, Schema: s.schemaConfig().Results,
		File: config.ResultLimit{Limit: file.Limit, Blobs: file.Blobs, Structured: file.Structured}}
}

// runs reports whether the session may see the tool run.
func (s *sight) runs() bool {
	return s.opening.Server == "" && (s.mode() == builtin.ModeCode || s.hasCode() && s.mode() != builtin.ModeFull)
}

// hasCode reports whether the modes compact and search also show run.
func (s *sight) hasCode() bool {
	code := s.schemaConfig().Code
	return code != nil && *code || s.opening.Who.Code
}

// modeKey is equal for sessions with the same own tools.
func (s *sight) modeKey(mode string) string {
	if s.hasCode() {
		mode += "+code"
	}
	if s.reads() {
		mode += "+read"
	}
	return mode
}
