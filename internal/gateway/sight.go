package gateway

import (
	"slices"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/catalog/fit"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway/results"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/receipt"
	"mcp-all-in-one/internal/upstream"
)

// A sight is what the client of a session sees, and how: its servers, and what
// its principal may use of them.
type sight struct {
	identity
	scope string // what the principal sees, see access.Principal.Sight
}

// unfiltered says that the principal sees everything, so that its lists and
// names need no filter.
func (s *sight) unfiltered() bool { return s.scope == "" }

// seesServer says whether the principal sees anything of a server.
func (o *Opening) seesServer(server string) bool {
	return o.Who.MaySee(o.Schema, server, "")
}

// seesTool says whether the principal may call a tool of a server. Our own
// tools are shown by other rules.
func (s *sight) seesTool(server, tool string) bool {
	if server == builtin.Server {
		return true
	}
	who := &s.opening.Who
	return who.MayCall(s.opening.Schema, server, tool, who.ReadOnly && s.readOnly(server, tool))
}

// readOnly says whether the server calls a tool read-only.
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

// seesOther says whether the principal may use the prompts and resources of a
// server.
func (o *Opening) seesOther(server, _ string) bool {
	return server == builtin.Server || o.Who.MayRead(o.Schema, server)
}

// visible filters tools by what the principal sees; nil for everything.
func (s *sight) visible() catalog.Visible {
	if s.unfiltered() {
		return nil
	}
	return s.seesTool
}

// readable filters prompts and resources likewise.
func (s *sight) readable() catalog.Visible {
	if s.unfiltered() {
		return nil
	}
	return s.opening.seesOther
}

// sees is the filter for a kind of list.
func (s *sight) sees(kind catalog.Kind) catalog.Visible {
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

// mode is what the session is shown: the tools, or two that stand for them.
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

// own returns our own tools, for the principals who may use them.
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

// fit is what the client takes of a tool; nil for everything. The key decides,
// then the schema. Only a legacy session may be judged by the name that the
// client gives: a modern request is answered the same for every sender. One
// server's own endpoint shows what the server shows.
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

// reads says whether the session can be shown a result in part, so that it
// needs a tool to read on. A server's own endpoint passes everything.
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

// runs says whether the session may be shown run.
func (s *sight) runs() bool {
	return s.opening.Server == "" && (s.mode() == builtin.ModeCode || s.hasCode() && s.mode() != builtin.ModeFull)
}

// hasCode says whether the session is shown run in the modes compact and
// search, too.
func (s *sight) hasCode() bool {
	code := s.schemaConfig().Code
	return code != nil && *code || s.opening.Who.Code
}

// modeKey is equal for sessions whose own tools are the same.
func (s *sight) modeKey(mode string) string {
	if s.hasCode() {
		mode += "+code"
	}
	if s.reads() {
		mode += "+read"
	}
	return mode
}
