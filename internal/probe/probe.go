// Package probe is the tester: a client for any MCP server, in either era, that
// shows exactly what is sent over the wire.
//
// It owns one connection with a chosen version, identity and offer, the
// recorded frames, the answers to the server's questions, and the features
// built on them: typed arguments, test files, recordings, comparisons. It does
// not depend on a terminal or a browser.
package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/sandbox"
	"mcp-all-in-one/internal/stdio"
)

// A Target is the server to test. Exactly one of Command, URL and Dial is set.
type Target struct {
	// Name is the display name.
	Name string

	Command string
	Args    []string
	// Env is the complete environment of the command.
	Env []string
	Cwd string
	// Sandbox is how the command is confined; nil if it is not.
	Sandbox *sandbox.Server

	URL string
	// Type is config.TypeHTTP, config.TypeSSE, or config.TypeAuto for
	// detection.
	Type   string
	Header http.Header
	// Socket is the Unix socket that serves the URL; empty if the URL itself
	// locates the server.
	Socket string
	// Carry wraps the transport to add the credentials of a sign-in; nil if
	// none are needed.
	Carry func(http.RoundTripper) http.RoundTripper

	// Dial opens a stream to a server in this process. end is called after the
	// stream was closed.
	Dial func(ctx context.Context) (stream jsonrpc.Stream, end func(), err error)

	// Secrets are replaced in all output.
	Secrets []string
}

// TargetOf returns the target of a configured server. parent is the environment
// that the server inherits.
func TargetOf(s *config.Server, parent []string) Target {
	t := Target{Name: s.Name, Command: s.Command, Args: s.Args, Cwd: s.Cwd, URL: s.URL, Type: s.Type}
	if s.Type == config.TypeStdio {
		own := make(map[string]string, len(s.Env))
		for k, v := range s.Env {
			own[k] = v.Reveal()
			t.Secrets = append(t.Secrets, v.Reveal())
		}
		t.Env, _ = stdio.Environ(parent, s.Command, stdio.Inherit{All: s.InheritEnv.All, Names: s.InheritEnv.Names}, own)
		t.URL = ""
		if s.Sandbox.On {
			t.Sandbox = &sandbox.Server{ID: s.ID(), Place: s.FolderID(), Rules: s.Sandbox, Cwd: s.Cwd}
		}
		return t
	}
	t.Command, t.Header = "", make(http.Header)
	for k, v := range s.Headers {
		t.Header.Set(k, v.Reveal())
		t.Secrets = append(t.Secrets, v.Reveal())
	}
	return t
}

// Options describe the client that the tester simulates.
type Options struct {
	// Protocol is auto, legacy, modern, or the date of a known or unknown
	// version.
	Protocol string
	// Info is the name and version of the client.
	Info mcp.Implementation
	// Offer lists the requests that the server may send; nil means all.
	// Capabilities, if set, is sent unchanged instead.
	Offer        *mcp.Offer
	Capabilities json.RawMessage
	Roots        []config.Root
	// Answer answers the questions of the server; nil refuses them.
	Answer Answerer
	// LogLevel requests the log of a modern server from the first request on.
	LogLevel string
	// Listen opens the stream for messages of the server outside any call.
	Listen bool
	// Launcher starts commands; other targets do not need it.
	Launcher *stdio.Launcher
	// Handshake limits the handshake (30 s), MaxMessage one message (16 MiB).
	Handshake  time.Duration
	MaxMessage int64
	Log        *slog.Logger

	// Measure returns how long the gateway and the server took for a call, if
	// the gateway runs in this process; otherwise nil.
	Measure func(method string, began time.Time) (m Measurement, ok bool)

	// Record stores a finished call and returns its entry; nil stores none.
	Record func(s *Session, x *Exchange, began time.Time, err error) uint64

	// The following callbacks may be nil and may be called concurrently, but
	// not after Close has returned.
	OnNotification func(method string, params json.RawMessage)
	OnLine         func(text string)
	OnFrame        func(f Frame)
	OnDown         func(err error)
}

// A Measurement is the gateway's record of a call.
type Measurement struct {
	Gateway, Server time.Duration
	// Record is the entry in the gateway's record.
	Record uint64
}

const (
	defaultHandshake = 30 * time.Second
	// firstFetch limits the wait for a command that may have to download its
	// program.
	firstFetch = 5 * time.Minute
	// eraProbe limits the wait for an answer to server/discover. After that the
	// server is taken for one that does not know the method.
	eraProbe = 2 * time.Second
	// lastBreath limits the wait for the exit of a command after its pipes
	// closed.
	lastBreath = 2 * time.Second
)

var (
	// ErrHandshake means that the server took too long to answer the handshake.
	ErrHandshake = i18n.Errorf("the server did not answer the handshake", "服务器没有应答握手")
	// ErrIdle ends a call whose server sent nothing for too long.
	ErrIdle = i18n.Errorf("the server sent neither an answer nor progress", "服务器没有任何响应")
	// ErrLimit ends a call that takes too long.
	ErrLimit = i18n.Errorf("the call did not finish", "调用没有结束")
	// ErrCancelled ends a call that the user cancelled.
	ErrCancelled = i18n.Errorf("cancelled by the user", "已由用户取消")
)

// Info is the result of the handshake.
type Info struct {
	Era       mcp.Era
	Version   string
	Transport string
	// Handshake is the result of initialize or server/discover, as received.
	Handshake    json.RawMessage
	Capabilities json.RawMessage
	Server       json.RawMessage
	Instructions string
	// Speaks lists the versions that a modern server supports.
	Speaks []string
	PID    int
	// SessionID is the session ID of a legacy HTTP server.
	SessionID string
	// Dial is the time to connect the transport, Greet the time of the
	// handshake.
	Dial, Greet time.Duration
}

// Has reports whether the server declared a capability.
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
	o.Protocol = cmp.Or(o.Protocol, "auto")
}
