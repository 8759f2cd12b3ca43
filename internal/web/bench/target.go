package bench

import (
	"context"
	"encoding/json"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/tester/history"
	"mcp-all-in-one/internal/web/inbox"
)

// ViaGateway is the way through this gateway, where its policies hold.
const ViaGateway = "gateway"

// A Target is what the tester connects to: a configured server, this gateway
// as its clients see it, or anything else by command or URL.
type Target struct {
	// Server names a configured server of Schema; "" with Via "gateway" is the
	// whole of Schema.
	Server string `json:"server,omitempty"`
	Schema string `json:"schema,omitempty"`
	// Via is direct or gateway. Direct needs the scope admin.
	Via string `json:"via,omitempty"`
	// As is the session of a connected client whose offer is imitated.
	As string `json:"as,omitempty"`

	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`

	// Protocol is auto, legacy, modern or a version.
	Protocol string `json:"protocol,omitempty"`
	// ClientName and ClientVersion are what the tester calls itself.
	ClientName    string `json:"clientName,omitempty"`
	ClientVersion string `json:"clientVersion,omitempty"`
	// Offer names the client capabilities: sampling, elicitation, roots. Nil
	// offers all of them.
	Offer []string `json:"offer,omitempty"`
	Roots []Root   `json:"roots,omitempty"`
}

// A Root is one root the tester offers.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// An Opener opens the tester's sessions.
type Opener interface {
	Open(ctx context.Context, who access.Principal, t *Target, hooks *Hooks) (Session, error)
}

// Hooks hear what a session's server does on its own. They may be called
// concurrently, and not after Close has returned.
type Hooks struct {
	Notification func(method string, params json.RawMessage)
	// Line is one line of the server's stderr.
	Line func(text string)
	// Ask puts the server's question to a person.
	Ask func(ctx context.Context, q inbox.Question) (inbox.Answer, error)
	// Down says that the connection is gone.
	Down func(err error)
	// Sent hears each message as it is sent; it may be nil.
	Sent func(body []byte)
}

// A Session is one connection of the tester. Its methods may be called
// concurrently.
type Session interface {
	Info() Info
	// Call sends one request as it is. An error that the server answered is in
	// the Exchange; err says that no answer came, and the Exchange beside it, if
	// there is one, has what went over the wire until then.
	Call(ctx context.Context, method string, params json.RawMessage) (*Exchange, error)
	Notify(ctx context.Context, method string, params json.RawMessage) error
	// SetRoots changes what roots/list answers and says so to the server.
	SetRoots(ctx context.Context, roots []Root) error
	// Wire is everything that went over the wire so far.
	Wire() []history.WireFrame
	// Redact replaces the secrets of the target in what is kept.
	Redact(raw []byte) []byte
	Close() error
}

// Info is what the handshake said.
type Info struct {
	Protocol     string          `json:"protocol"`
	Era          string          `json:"era"`
	Transport    string          `json:"transport"`
	Handshake    json.RawMessage `json:"handshake,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	PID          int             `json:"pid,omitempty"`
	Session      string          `json:"session,omitempty"`
}

// An Exchange is one call of the tester and everything known about it.
type Exchange struct {
	// Exactly one of Result and Error is set; both are raw JSON.
	Result json.RawMessage
	Error  json.RawMessage
	// Total is the whole time; the other three say where it went.
	Total, Gateway, Transport, ServerTime time.Duration
	// TrafficID is the entry of the record, 0 when there is none.
	TrafficID uint64
	// Wire are the messages as they were sent and received.
	Wire []history.WireFrame
}
