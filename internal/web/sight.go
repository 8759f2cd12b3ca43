package web

import (
	"encoding/json"
	"net/http"
	"slices"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/api"
)

// sight returns what a principal may see. Package access makes the decisions;
// sight applies them.
type sight struct {
	all    Servers
	guests func() []Client // nil: no clients
	record *traffic.Recorder
}

// servers returns the servers that a principal sees.
func (s *sight) servers(who access.Principal) []Server {
	list := []Server{}
	for _, one := range s.all.List() {
		if who.MaySee(one.Schema, one.Name, "") {
			list = append(list, one.shownTo(who))
		}
	}
	return list
}

// shownTo removes the fields that the principal may not read, and sets the
// counts to what the principal sees.
func (s Server) shownTo(who access.Principal) Server {
	if !who.MayInspect() {
		s.Reason, s.ReasonZH, s.PID = "", "", 0
	}
	if !who.MayRead(s.Schema, s.Name) {
		s.Resources, s.Prompts = 0, 0
	}
	if len(who.Tools) > 0 {
		s.Tools = 0
		if s.ToolsSeen != nil {
			s.Tools = s.ToolsSeen(who)
		}
		s.Pending = slices.DeleteFunc(slices.Clone(s.Pending), func(name string) bool { return s.State != "pending" && !who.MaySee(s.Schema, s.Name, name) })
	}
	return s
}

func (d ServerDetail) shownTo(who access.Principal) ServerDetail {
	d.Server = d.Server.shownTo(who)
	if who.MayInspect() {
		return d
	}
	return ServerDetail{Server: d.Server, Entry: json.RawMessage("null"), Handshake: d.Handshake}
}

// sees reports whether a principal sees a server in any schema.
func (s *sight) sees(who access.Principal, server string) bool {
	return who.Unbound() || slices.ContainsFunc(s.all.List(), func(one Server) bool {
		return one.Name == server && who.MaySee(one.Schema, one.Name, "")
	})
}

// looksInto reports whether a principal may read what owner did with a server of
// any schema.
func (s *sight) looksInto(who access.Principal, owner, server string) bool {
	return who.MayLookInto(owner, "", "", "") || slices.ContainsFunc(s.all.List(), func(one Server) bool {
		return one.Name == server && who.MayLookInto(owner, one.Schema, one.Name, "")
	})
}

// mayReadLog reports whether a principal may read the output of a server.
func (s *sight) mayReadLog(who access.Principal, server string) bool {
	return who.MayInspect() && s.sees(who, server)
}

// clients returns the sessions that a principal may look at.
func (s *sight) clients(who access.Principal) []Client {
	list := []Client{}
	if s.guests == nil {
		return list
	}
	for _, c := range s.guests() {
		if who.MayLookInto(c.Owner, c.Schema, "", "") {
			list = append(list, c)
		}
	}
	return list
}

// stats returns the figures of the servers that a principal sees. Figures of
// tools and of clients reveal what others asked for, so they need the right to
// inspect.
func (s *sight) stats(who access.Principal) []traffic.Stat {
	return slices.DeleteFunc(s.record.Stats(), func(one traffic.Stat) bool {
		return !s.sees(who, one.Server) || !who.MayInspect() && (one.Server == "" || one.Name != "")
	})
}

// filter parses a query and restricts it to the entries that a principal may
// look at.
func filter(who access.Principal, query string) (*traffic.Filter, error) {
	f, err := traffic.ParseFilter(query)
	if err != nil {
		return nil, api.Refuse(http.StatusBadRequest, "filter", i18n.Why(err))
	}
	return f.Only(func(c *traffic.Call) bool { return mayRead(who, c) }), nil
}

// mayRead reports whether a principal may read an entry of the record.
func mayRead(who access.Principal, c *traffic.Call) bool {
	tool := ""
	if c.Method == mcp.MethodToolsCall && c.Hop == traffic.HopServer { // clients know it by another name
		tool = c.Name
	}
	return who.MayLookInto(c.Owner, c.Schema, c.Server, tool)
}
