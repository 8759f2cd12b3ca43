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

// idPrefix marks ids that name their owner, unlike those of a single gateway.
const idPrefix = "aio2."

// maxHello bounds the client's capabilities and info in an id.
const maxHello = 1024

// A ticket is the content of a session id. Clients can neither read nor change it.
type ticket struct {
	Owner   string          `json:"o"`
	Random  string          `json:"r"`
	Who     string          `json:"u"` // hash of the principal
	Schema  string          `json:"s,omitempty"`
	Server  string          `json:"v,omitempty"`
	Time    int64           `json:"t"`
	Line    bool            `json:"l,omitempty"` // legacy HTTP+SSE
	Bound   bool            `json:"b,omitempty"` // it cannot be restored elsewhere
	Version string          `json:"p,omitempty"`
	Caps    json.RawMessage `json:"c,omitempty"`
	Info    json.RawMessage `json:"i,omitempty"`
}

// NewID returns the id of a session. Any replica can read the owner from it.
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
		n.opt.Log.Error("session not named", "err", err) // the client sent invalid JSON that was accepted
		return ""
	}
	return idPrefix + n.sessions.Seal(plain)
}

// open reads a session id and checks its principal and endpoint. It does not
// distinguish an unknown id from a forged one or one of another principal.
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

// readTicket decrypts an id.
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
