package gateway

import (
	"bytes"
	"maps"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/gateway/entry"
	"mcp-all-in-one/internal/gateway/welcome"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/receipt"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/weight"
)

// An identity is the client of a session, as it connected and declared itself.
type identity struct {
	gw      *Gateway
	opening Opening
	caller  *upstream.Caller
	// seed is set for clients that get the answers of mcps-proxy and mcpx.
	seed   bool
	rules  mcp.Version
	name   atomic.Pointer[string] // as the client declares it
	opened time.Time
	calls  atomic.Int64
	heard  atomic.Int64 // time of its last request, in nanoseconds since opened
	keeps  weight.Tab

	mu      sync.Mutex
	version string // as negotiated; empty before initialize
}

// A Client describes one connected session.
type Client struct {
	Session, Name, Version, Protocol string
	Transport                        string
	Schema, Principal, Owner         string    // Owner is access.Principal.Owner
	Since, Seen                      time.Time // time of connection and of the last request
	Calls                            int64
	Offer                            mcp.Offer
}

// connected returns the sessions whose clients can be reached.
func (g *Gateway) connected() []*Session {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Keys(g.sessions))
}

// session returns the connected session with an id, or nil.
func (g *Gateway) session(id string) *Session {
	for _, s := range g.connected() {
		if s.caller.Session == id {
			return s
		}
	}
	return nil
}

// Clients lists the connected sessions, oldest first.
func (g *Gateway) Clients() []Client {
	sessions := g.connected()
	clients := make([]Client, 0, len(sessions))
	for _, s := range sessions {
		clients = append(clients, s.describe())
	}
	sort.Slice(clients, func(i, j int) bool { return clients[i].Since.Before(clients[j].Since) })
	return clients
}

// Imitate returns an Opening with which a principal sees what a connected
// session sees, or false if there is no such session.
func (g *Gateway) Imitate(session string, who access.Principal) (Opening, bool) {
	s := g.session(session)
	if s == nil {
		return Opening{}, false
	}
	return Opening{Who: who.Within(s.opening.Who.Grant), Opener: who, Schema: s.opening.Schema, Server: s.opening.Server}, true
}

// introduce stores what a client declares in its handshake. It returns an error if
// the client has already done a handshake.
func (id *identity) introduce(h *welcome.Hello) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.version != "" {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "this session is initialized already")
	}
	if err := id.retain(len(h.Info)); err != nil {
		return err
	}
	id.version, id.rules = h.Version, mcp.Rules(h.Version)
	id.seed = !id.opening.Strict && welcome.Dialect(id.gw.config().Compat, h.Capabilities)
	id.caller.Version = h.Version
	id.caller.Offer = mcp.ParseOffer(h.Capabilities).For(id.rules)
	id.caller.Info = bytes.Clone(h.Info)
	name, _ := jsonrpc.GetString(h.Info, "name")
	name = entry.Clip(name)
	id.name.Store(&name)
	return nil
}

func (id *identity) describe() Client {
	id.mu.Lock()
	defer id.mu.Unlock()
	transport := "http"
	switch {
	case id.opening.Stdio:
		transport = "stdio"
	case id.opening.Strict:
		transport = "sse"
	}
	version, _ := jsonrpc.GetString(id.caller.Info, "version")
	return Client{
		Session: id.caller.Session, Name: id.clientName(), Version: entry.Clip(version), Protocol: id.version, Transport: transport,
		Schema: id.opening.Schema, Principal: id.opening.Who.ID, Owner: id.opening.Who.Owner(), Since: id.opened, Seen: id.opened.Add(time.Duration(id.heard.Load())), Calls: id.calls.Load(), Offer: id.caller.Offer,
	}
}

// Version is the negotiated protocol version, empty before initialize.
func (id *identity) Version() string {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.version
}

// clientName returns the name that the client declares.
func (id *identity) clientName() string {
	if name := id.name.Load(); name != nil {
		return *name
	}
	return ""
}

// Keeper returns the record of the gateway.
func (id *identity) Keeper() *entry.Keeper { return &id.gw.record }

// Sign fills in the client of a call, and its door.
func (id *identity) Sign(c *traffic.Call) {
	c.Session, c.Client = id.caller.Session, id.clientName()
	c.Principal, c.Owner, c.Door, c.Schema = id.opening.Who.ID, id.opening.Who.Owner(), id.opening.Via, id.opening.Schema
}

// Traceparent returns the trace context that the client sent with a request.
func (id *identity) Traceparent(params []byte) string {
	if text, ok := jsonrpc.GetString(params, "_meta", "traceparent"); ok {
		return text
	}
	return id.opening.Header.Get("Traceparent")
}

// finishTool adapts a result to the client's dialect.
func (id *identity) finishTool(result []byte) []byte {
	if id.seed && jsonrpc.Get(result, "isError") == nil && len(result) > 0 && result[0] == '{' {
		result = jsonrpc.Set(result, []byte("false"), "isError")
	}
	return result
}

// A Lens shows a person what one connected session sees.
type Lens struct {
	receipt.Receipt
	// Listed are the names of the tools and prompts that the session sees.
	Listed []string `json:"listed"`
}

// Lens returns the view of a connected session, or false without such a
// session.
func (g *Gateway) Lens(session string) (Lens, bool) {
	found := g.session(session)
	if found == nil {
		return Lens{}, false
	}
	v := found.look()
	return Lens{Receipt: found.account.receipt(), Listed: v.Names(found.Version(), found.visible(), found.readable())}, true
}
