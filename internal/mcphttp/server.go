// Package mcphttp serves MCP over HTTP: streamable HTTP of both eras, legacy
// HTTP+SSE, their headers.
//
// It owns messages in flight, sessions and streams. It knows nothing about
// principals, and about methods only what the transport itself prescribes.
package mcphttp

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/weight"
)

// A Transport says how a client reached us.
type Transport uint8

const (
	// TransportSession is a session of legacy streamable HTTP.
	TransportSession Transport = iota + 1
	// TransportPost is one POST outside any session.
	TransportPost
	// TransportModern is one POST of 2026-07-28 or newer.
	TransportModern
	// TransportSSE is a connection of legacy HTTP+SSE.
	TransportSSE
)

func (t Transport) String() string {
	return [...]string{"", "session", "post", "modern", "sse"}[t]
}

// An Endpoint is the target of a URL; empty fields mean the default.
type Endpoint struct {
	Schema, Server string
}

// An Opening describes a new client to ServerOptions.Open.
type Opening struct {
	Transport Transport
	Endpoint  Endpoint
	// Client sends messages to the client outside any call; nil for TransportPost
	// and TransportModern.
	Client jsonrpc.Peer
	// Header is the header of the first request.
	Header http.Header
	// Host is the host of the first request.
	Host string
	// End ends the session as soon as none of its calls is in flight. It
	// returns at once. It is nil if there is no session.
	End func()
}

// A Session answers one client. Handle and HandleNotification may be called
// concurrently; Close is called once, after the last of them has returned. A
// Session of TransportModern has nothing to close: it may serve several requests
// with the same header, and then Close is not called.
type Session interface {
	jsonrpc.Handler
	// Version is the negotiated protocol version, "" before initialize.
	Version() string
	Close()
}

// errShutDown ends the sessions when no request runs any more.
var errShutDown = i18n.Errorf("the gateway is shutting down", "网关正在关闭")

// ErrSessionEnded is the cause of a handler's context that ends with its
// session.
var ErrSessionEnded = i18n.Errorf("the session has ended", "会话已结束")

// ServerOptions say what a Server serves.
type ServerOptions struct {
	// Open creates the Session of a new client. An error of type *jsonrpc.Error is
	// sent to the client unchanged. ctx ends with the session or request.
	Open   func(ctx context.Context, o *Opening) (Session, error)
	Limits ServerLimits
	// Until returns when the credential of a request ends, which ends the stream
	// that the request opened; zero means never. Until may be nil.
	Until func(ctx context.Context) time.Time
	// NewID returns the id of a new session, so that other replicas can tell which
	// replica has it; "" keeps the random id. Elsewhere handles requests that may
	// belong to another replica. Keep gives the other replicas what they need to
	// restore a session; it must not block. All are nil if there is only one
	// replica.
	NewID     func(ctx context.Context, s Start) string
	Elsewhere func(w http.ResponseWriter, a *Away) Whereabouts
	Keep      func(id string, w Wants)
	// Log may be nil.
	Log *slog.Logger
}

// A Server serves MCP clients over HTTP.
type Server struct {
	open      func(ctx context.Context, o *Opening) (Session, error)
	lim       ServerLimits
	until     func(context.Context) time.Time
	log       *slog.Logger
	newID     func(context.Context, Start) string
	elsewhere func(http.ResponseWriter, *Away) Whereabouts
	keep      func(string, Wants)
	table     table
	posts     posts
	ending    ending
	work      sync.WaitGroup // sessions that are ending, stream writers, the pulse
	dropped   atomic.Int64
	cutOff    atomic.Int64
	opened    atomic.Uint64 // sessions
	replays   weight.Book   // what sessions keep for resumption
}

// NewServer makes a Server. Close must be called.
func NewServer(opt ServerOptions) *Server {
	s := &Server{
		open:      opt.Open,
		lim:       opt.Limits.orDefaults(),
		until:     opt.Until,
		log:       opt.Log,
		newID:     opt.NewID,
		elsewhere: opt.Elsewhere,
		keep:      opt.Keep,
		ending:    ending{draining: make(chan struct{}), closed: make(chan struct{})},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.until == nil {
		s.until = func(context.Context) time.Time { return time.Time{} }
	}
	s.table.byID, s.table.of, s.table.count = make(map[string]*session), make(map[string]int), s.lim.Count
	s.work.Go(s.pulse)
	return s
}

var (
	allowSession = []string{"GET, POST, DELETE, OPTIONS"}
	allowPost    = []string{"POST, OPTIONS"}
	allowGet     = []string{"GET, OPTIONS"}
)

// ServeMCP serves an MCP URL. Sessions are bound to the principal.
func (s *Server) ServeMCP(w http.ResponseWriter, r *http.Request, ep Endpoint, principal string) {
	switch r.Method {
	case http.MethodPost:
		s.servePost(w, r, ep, principal)
	case http.MethodGet:
		s.serveGet(w, r, ep, principal)
	case http.MethodDelete:
		s.serveDelete(w, r, ep, principal)
	default:
		otherMethod(w, r, allowSession)
	}
}

// otherMethod answers OPTIONS and refuses all other methods.
func otherMethod(w http.ResponseWriter, r *http.Request, allow []string) {
	w.Header()["Allow"] = allow
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	Refuse(w, http.StatusMethodNotAllowed, jsonrpc.CodeInvalidRequest, "method not allowed")
}

// pulse starts the event stream of long calls without output, so that no proxy
// between client and server takes the connection for dead.
func (s *Server) pulse() {
	tick := time.NewTicker(max(s.lim.KeepAlive/5, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-s.ending.closed:
			return
		case now := <-tick.C:
			for _, p := range s.posts.olderThan(now.Add(-s.lim.KeepAlive * 4 / 5)) {
				p.upgrade()
			}
		}
	}
}
