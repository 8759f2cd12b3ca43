// Package probe is the tester: a client of any MCP server, in either era, that
// shows exactly what went over the wire.
//
// It owns one connection with a chosen version, identity and offer, the frames
// that passed, the answers to what the server asks, and what is built on that:
// typed arguments, test files, recordings, comparisons. It refuses to know what
// a terminal or a browser looks like.
package probe

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/stdio"
)

// A Target says which server is tested. Exactly one of Command, URL and Dial
// is set.
type Target struct {
	// Name is what people call it.
	Name string

	Command string
	Args    []string
	// Env is the whole environment of the command.
	Env []string
	Cwd string

	URL string
	// Type is config.TypeHTTP, config.TypeSSE, or config.TypeAuto to find out.
	Type   string
	Header http.Header
	// Socket is the Unix socket on which the URL is served; empty where the
	// URL itself says where.
	Socket string
	// Carry puts what a sign-in gave before the connections to the URL; nil
	// where nobody has to sign in.
	Carry func(http.RoundTripper) http.RoundTripper

	// Dial opens a stream to something that runs in this process.
	Dial func(ctx context.Context) (jsonrpc.Stream, error)

	// Secrets are replaced in everything that is shown.
	Secrets []string
}

// TargetOf is the target of a configured server. parent is the environment
// that the server inherits from.
func TargetOf(s *config.Server, parent []string) Target {
	t := Target{Name: s.Name, Command: s.Command, Args: s.Args, Cwd: s.Cwd, URL: s.URL, Type: s.Type}
	if s.Type == config.TypeStdio {
		own := make(map[string]string, len(s.Env))
		for k, v := range s.Env {
			own[k] = v.Reveal()
			t.Secrets = append(t.Secrets, v.Reveal())
		}
		t.Env, _ = stdio.Environ(parent, stdio.Inherit{All: s.InheritEnv.All, Names: s.InheritEnv.Names}, own)
		t.URL = ""
		return t
	}
	t.Command, t.Header = "", make(http.Header)
	for k, v := range s.Headers {
		t.Header.Set(k, v.Reveal())
		t.Secrets = append(t.Secrets, v.Reveal())
	}
	return t
}

// Options say which client the tester plays.
type Options struct {
	// Protocol is auto, legacy, modern, or the date of a version, known or
	// not.
	Protocol string
	// Info is what the client calls itself.
	Info mcp.Implementation
	// Offer is what the server may ask for; nil is everything. Capabilities,
	// when set, is sent as it is instead.
	Offer        *mcp.Offer
	Capabilities json.RawMessage
	Roots        []config.Root
	// Answer answers what the server asks; nil refuses.
	Answer Answerer
	// LogLevel asks a modern server for its log from the first request on.
	LogLevel string
	// Listen opens the stream on which a server speaks outside any call.
	Listen bool
	// Launcher starts commands; it is needed for those alone.
	Launcher *stdio.Launcher
	// Handshake bounds the opening (30 s); MaxMessage one message (16 MiB).
	Handshake  time.Duration
	MaxMessage int64
	Log        *slog.Logger

	// Measure asks a gateway in this process where the time of a call went;
	// nil where there is none.
	Measure func(method string, began time.Time) (m Measurement, ok bool)

	// Record keeps a record of a call that ended and returns its entry; nil
	// keeps none.
	Record func(s *Session, x *Exchange, began time.Time, err error) uint64

	// What follows hears of things as they happen; each may be nil, and may be
	// called concurrently, but not after Close has returned.
	OnNotification func(method string, params json.RawMessage)
	OnLine         func(text string)
	OnFrame        func(f Frame)
	OnDown         func(err error)
}

// A Measurement is what a gateway recorded of a call.
type Measurement struct {
	Gateway, Server time.Duration
	// Record is the entry in its record.
	Record uint64
}

const (
	defaultHandshake = 30 * time.Second
	// firstFetch is how long a command that may have to download its program
	// is waited for.
	firstFetch = 5 * time.Minute
	// eraProbe is how long a server may take to answer server/discover before
	// it counts as one that does not know it.
	eraProbe = 2 * time.Second
	// lastBreath is how long a command may take to end after its pipes did.
	lastBreath = 2 * time.Second
)

var (
	errHandshake = i18n.Errorf("it did not answer in time", "未及时应答")
	// ErrIdle ends a call whose server sent nothing for too long.
	ErrIdle = i18n.Errorf("the server sent neither an answer nor progress", "服务没有任何响应")
	// ErrLimit ends a call that takes too long.
	ErrLimit = i18n.Errorf("the call did not finish", "调用没有结束")
	// ErrCancelled ends a call that the user cancelled.
	ErrCancelled = i18n.Errorf("cancelled by the user", "已由用户取消")
)

// Info is what the handshake said.
type Info struct {
	Era       mcp.Era
	Version   string
	Transport string
	// Handshake is the result of initialize or of server/discover, as it came.
	Handshake    json.RawMessage
	Capabilities json.RawMessage
	Server       json.RawMessage
	Instructions string
	// Speaks are the versions that a modern server names.
	Speaks []string
	PID    int
	// SessionID is the one that a legacy HTTP server gave.
	SessionID string
	// Dial is the time until the transport stood, Greet that of the handshake.
	Dial, Greet time.Duration
}

// Has says whether the server declared a capability.
func (i Info) Has(path ...string) bool {
	raw := jsonrpc.Get(i.Capabilities, path...)
	return len(raw) > 0 && raw[0] != 'f' && raw[0] != 'n'
}

func (o *Options) withDefaults() {
	if o.Handshake <= 0 {
		o.Handshake = defaultHandshake
	}
	if o.Info.Name == "" {
		o.Info = mcp.Implementation{Name: "mcp-all-in-one", Version: mcp.ProductVersion}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Protocol == "" {
		o.Protocol = "auto"
	}
}
