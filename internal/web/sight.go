package web

import (
	"encoding/json"
	"slices"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/traffic"
)

// What a principal is shown. Who may see what is decided in access; here it is
// asked.

// servers are those that a principal sees.
func (h *Handler) servers(who access.Principal) []Server {
	list := []Server{}
	for _, s := range h.opt.Servers.List() {
		if who.MaySee(s.Schema, s.Name, "") {
			list = append(list, s.shownTo(who))
		}
	}
	return list
}

// shownTo leaves out what only those may read who look after the servers, and
// counts what the principal sees.
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

// sees says whether a principal sees a server in any schema.
func (h *Handler) sees(who access.Principal, server string) bool {
	return who.Unbound() || slices.ContainsFunc(h.opt.Servers.List(), func(s Server) bool {
		return s.Name == server && who.MaySee(s.Schema, s.Name, "")
	})
}

// mayReadLog says whether a principal may read what a server wrote.
func (h *Handler) mayReadLog(who access.Principal, server string) bool {
	return who.MayInspect() && h.sees(who, server)
}

// clients are the sessions that a principal may look at.
func (h *Handler) clients(who access.Principal) []Client {
	list := []Client{}
	if h.opt.Clients == nil {
		return list
	}
	for _, c := range h.opt.Clients() {
		if who.MayLookAt(c.Principal) {
			list = append(list, c)
		}
	}
	return list
}

// stats are the figures of the servers that a principal sees. Those of tools and
// of clients name what others asked for.
func (h *Handler) stats(who access.Principal) []traffic.Stat {
	return slices.DeleteFunc(h.opt.Traffic.Stats(), func(s traffic.Stat) bool {
		return !h.sees(who, s.Server) || !who.MayInspect() && (s.Server == "" || s.Name != "")
	})
}

// filter reads the filter of a query, for the entries that a principal may look
// at.
func filter(who access.Principal, query string) (*traffic.Filter, error) {
	f, err := traffic.ParseFilter(query)
	if err != nil {
		return nil, err
	}
	return f.Only(func(c *traffic.Call) bool { return who.MayLookAt(c.Principal) }), nil
}
