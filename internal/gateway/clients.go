package gateway

import (
	"cmp"
	"slices"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Client describes one connected session.
type Client struct {
	Session, Name, Version, Protocol string
	Transport                        string
	Schema, Principal                string
	Since, Seen                      time.Time // connected, and last heard of
	Calls                            int64
	Offer                            mcp.Offer
}

// Clients lists the connected sessions, oldest first.
func (g *Gateway) Clients() []Client {
	g.mu.Lock()
	list := make([]*Session, 0, len(g.sessions))
	for s := range g.sessions {
		list = append(list, s)
	}
	g.mu.Unlock()
	clients := make([]Client, 0, len(list))
	for _, s := range list {
		clients = append(clients, s.describe())
	}
	slices.SortFunc(clients, func(a, b Client) int { return cmp.Compare(a.Since.UnixNano(), b.Since.UnixNano()) })
	return clients
}

// Imitate returns an Opening that sees and may do what a connected session
// does; false when there is no such session.
func (g *Gateway) Imitate(session string) (Opening, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for s := range g.sessions {
		if s.caller.Session == session {
			o := s.opening
			return Opening{Who: o.Who, Schema: o.Schema, Server: o.Server}, true
		}
	}
	return Opening{}, false
}

func (s *Session) describe() Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	transport := "http"
	switch {
	case s.opening.Stdio:
		transport = "stdio"
	case s.opening.Strict:
		transport = "sse"
	}
	version, _ := jsonrpc.GetString(s.caller.Info, "version")
	return Client{
		Session: s.caller.Session, Name: s.clientName(), Version: version, Protocol: s.version, Transport: transport,
		Schema: s.opening.Schema, Principal: s.opening.Who.ID, Since: s.opened, Seen: s.opened.Add(time.Duration(s.heard.Load())), Calls: s.calls.Load(), Offer: s.caller.Offer,
	}
}
