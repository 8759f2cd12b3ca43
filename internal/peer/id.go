package peer

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/seal"
)

// idPrefix tells ids that name their owner from those of a gateway alone.
const idPrefix = "aio2."

// maxHello is how much of what a client said of itself fits into an id.
const maxHello = 1024

// A ticket is what the id of a session says. Clients carry it and can neither
// read nor change it.
type ticket struct {
	Owner   string          `json:"o"`
	Random  string          `json:"r"`
	Who     string          `json:"u"` // hash of the principal
	Schema  string          `json:"s,omitempty"`
	Server  string          `json:"v,omitempty"`
	Time    int64           `json:"t"`
	Line    bool            `json:"l,omitempty"` // legacy HTTP+SSE
	Bound   bool            `json:"b,omitempty"` // it cannot begin again elsewhere
	Version string          `json:"p,omitempty"`
	Caps    json.RawMessage `json:"c,omitempty"`
	Info    json.RawMessage `json:"i,omitempty"`
}

// NewID names a session, so that any replica knows whose it is.
func (n *Node) NewID(_ context.Context, s mcphttp.Start) string {
	t := ticket{
		Owner: n.self.String(), Random: rand.Text(), Who: hashOf(s.Principal), Schema: s.Endpoint.Schema, Server: s.Endpoint.Server,
		Time: time.Now().Unix(), Line: s.Transport == mcphttp.TransportSSE, Bound: s.Bound, Version: s.Version,
	}
	if len(s.Capabilities)+len(s.ClientInfo) > maxHello {
		t.Bound = true
	}
	if !t.Bound {
		t.Caps, t.Info = s.Capabilities, s.ClientInfo
	}
	plain, err := json.Marshal(t)
	if err != nil {
		n.opt.Log.Error("session not named", "err", err) // a client sent what is not JSON, and was understood
		return ""
	}
	return idPrefix + n.sessions.Seal(plain)
}

// open reads the id of a session of this principal and endpoint. What is
// tampered with, or somebody else's, is as unknown as what never was.
func (n *Node) open(a *mcphttp.Away) (t ticket, owner Owner, ok bool) {
	t, ok = n.tickets.find(a.Session, func(id string) (ticket, bool) { return readTicket(n.sessions, id) })
	if !ok || t.Who != hashOf(a.Principal) || t.Line != a.Line {
		return t, owner, false
	}
	if !t.Line && (mcphttp.Endpoint{Schema: t.Schema, Server: t.Server}) != a.Endpoint {
		return t, owner, false
	}
	owner, ok = parseOwner(t.Owner)
	return t, owner, ok
}

// readTicket reads an id.
func readTicket(box *seal.Box, id string) (t ticket, ok bool) {
	text, ok := strings.CutPrefix(id, idPrefix)
	if !ok {
		return t, false
	}
	plain, ok := box.Open(text)
	return t, ok && json.Unmarshal(plain, &t) == nil
}

func hashOf(principal string) string {
	sum := sha256.Sum256([]byte(principal))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
