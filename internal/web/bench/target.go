package bench

import (
	"context"
	"encoding/json"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/tester/history"
	"mcp-all-in-one/internal/web/inbox"
)

// ViaGateway selects the way through this gateway, where its policies apply.
const ViaGateway = "gateway"

// A Target is what the tester connects to: a configured server, this gateway as
// its clients see it, or any other server by command or URL.
type Target struct {
	// Server names a configured server of Schema. "" with Via "gateway" selects
	// all of Schema.
	Server string `json:"server,omitempty"`
	Schema string `json:"schema,omitempty"`
	// Via is direct or gateway. Direct needs scope admin.
	Via string `json:"via,omitempty"`
	// As is the session of a connected client whose capabilities are imitated.
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
	// ClientName and ClientVersion are sent as the tester's client info.
	ClientName    string `json:"clientName,omitempty"`
	ClientVersion string `json:"clientVersion,omitempty"`
	// Offer names the client capabilities: sampling, elicitation, roots. Nil
	// offers all of them.
	Offer []string      `json:"offer,omitempty"`
	Roots []config.Root `json:"roots,omitempty"`
}

// An Opener opens the tester's sessions.
type Opener interface {
	Open(ctx context.Context, who access.Principal, t *Target, hooks *Hooks) (Session, error)
}

// Hooks are called for events from a session's server. They may be called
// concurrently, but not after Close has returned.
type Hooks struct {
	Notification func(method string, params json.RawMessage)
	// Line receives a line of the server's stderr.
	Line func(text string)
	// Ask asks the user a question of the server.
	Ask func(ctx context.Context, q inbox.Question) (inbox.Answer, error)
	// Down reports that the connection was lost.
	Down func(err error)
	// Sent receives each message when it is sent; it may be nil.
	Sent func(body []byte)
}

// A Session is a connection of the tester. Its methods may be called
// concurrently.
type Session interface {
	Info() Info
	// Call sends one request unchanged. An error response from the server is in
	// the Exchange. err means that there was no response; the Exchange, if not
	// nil, then holds the wire messages so far.
	Call(ctx context.Context, method string, params json.RawMessage) (*Exchange, error)
	Notify(ctx context.Context, method string, params json.RawMessage) error
	// SetRoots changes the response to roots/list and notifies the server.
	SetRoots(ctx context.Context, roots []config.Root) error
	// Wire returns all wire messages so far.
	Wire() []history.WireFrame
	// Redact replaces the secrets of the target in data that is kept.
	Redact(raw []byte) []byte
	Close() error
}

// Info is the result of the handshake.
type Info struct {
	Protocol     string          `json:"protocol"`
	Era          string          `json:"era"`
	Transport    string          `json:"transport"`
	Handshake    json.RawMessage `json:"handshake,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	PID          int             `json:"pid,omitempty"`
	Session      string          `json:"session,omitempty"`
}

// An Exchange is one call of the tester with its result, timing and messages.
type Exchange struct {
	// Exactly one of Result and Error is set; both are raw JSON.
	Result json.RawMessage
	Error  json.RawMessage
	// Total is the total time; the other three divide it.
	Total, Gateway, Transport, ServerTime time.Duration
	// TrafficID is the id of the entry in the traffic record, 0 if there is
	// none.
	TrafficID uint64
	// Wire holds the messages as they were sent and received.
	Wire []history.WireFrame
}
