package bench

import (
	"context"
	"encoding/json"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/history"
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

// An Opener opens a session of the tester.
type Opener func(ctx context.Context, who access.Principal, t *Target, opt probe.Options) (*probe.Session, error)

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

func infoOf(i probe.Info) Info {
	return Info{Protocol: i.Version, Era: i.Era.String(), Transport: i.Transport, Handshake: i.Handshake,
		Capabilities: i.Capabilities, PID: i.PID, Session: i.SessionID}
}

// wireOf returns frames as the page shows them, with times since began.
func wireOf(frames []probe.Frame, began time.Time) []history.WireFrame {
	out := make([]history.WireFrame, len(frames))
	for i, f := range frames {
		out[i] = history.WireFrame{Sent: f.Sent, At: f.At.Sub(began), Status: f.Status, Body: string(f.Body)}
		if len(f.Header) > 0 {
			out[i].Header = make(map[string]string, len(f.Header))
			for name := range f.Header {
				out[i].Header[name] = f.Header.Get(name)
			}
		}
	}
	return out
}
