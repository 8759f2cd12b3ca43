// Package mcphttp serves MCP over HTTP: streamable HTTP of both eras, legacy
// HTTP+SSE, their headers, and the guard of Host and Origin.
//
// It owns messages in flight, sessions and streams. It refuses to know what a
// method means beyond what the transport itself prescribes, and who a
// principal is.
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

// An Endpoint is what a URL addresses; empty fields mean the default.
type Endpoint struct {
	Schema, Server string
}

// An Opening is what is known when a client begins to talk.
type Opening struct {
	Transport Transport
	Endpoint  Endpoint
	// Client reaches the client outside any call; nil for TransportPost and
	// TransportModern.
	Client jsonrpc.Peer
	// Principal is who asks; "" where nobody is told apart.
	Principal string
	// Header is the header of the request that opened the conversation.
	Header     http.Header
	RemoteAddr string
	// Host is the one that the request names.
	Host string
	// End ends the session as soon as nothing of it is in flight. It returns
	// at once; nil where there is no session to end.
	End func()
}

// A Session answers one client. Handle and HandleNotification may be called
// concurrently; Close is called once, after the last of them has returned. One of
// TransportModern, which has nothing to close, may answer more requests with the
// same header, and then is not.
type Session interface {
	jsonrpc.Handler
	// Version is the negotiated protocol version, "" before initialize.
	Version() string
	Close()
}

// ErrDraining is the cause of a handler's context that ends because the server
// drains. A handler that only listens should return its result then.
var ErrDraining = i18n.Errorf("the server is shutting down", "服务正在关闭")

// ErrSessionEnded is the cause of a handler's context that ends with its
// session.
var ErrSessionEnded = i18n.Errorf("the session has ended", "会话已结束")

// ServerOptions say what a Server serves.
type ServerOptions struct {
	// Open makes the Session of a new client. An error of type *jsonrpc.Error
	// is answered as it is. ctx ends with the conversation.
	Open   func(ctx context.Context, o *Opening) (Session, error)
	Limits ServerLimits
	// NewID names a new session, so that other replicas know whose it is; ""
	// leaves it the name that it has. Elsewhere is told of what is not in the
	// table and may be another replica's. Both are nil for a gateway alone.
	NewID     func(ctx context.Context, s Start) string
	Elsewhere func(w http.ResponseWriter, a *Away) Whereabouts
	// Log may be nil.
	Log *slog.Logger
}

// A Server is the front that MCP clients talk to over HTTP.
type Server struct {
	open       func(ctx context.Context, o *Opening) (Session, error)
	lim        ServerLimits
	log        *slog.Logger
	newID      func(context.Context, Start) string
	elsewhere  func(http.ResponseWriter, *Away) Whereabouts
	table      table
	unfinished unfinished
	posts      posts
	ending     ending
	work       sync.WaitGroup // sessions being ended, pumps, the pulse
	dropped    atomic.Int64
	cutOff     atomic.Int64
	opened     atomic.Uint64 // sessions
}

// NewServer makes a Server. Close must be called.
func NewServer(opt ServerOptions) *Server {
	s := &Server{
		open:      opt.Open,
		lim:       opt.Limits.orDefaults(),
		log:       opt.Log,
		newID:     opt.NewID,
		elsewhere: opt.Elsewhere,
		ending:    ending{draining: make(chan struct{}), closed: make(chan struct{})},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.table.byID, s.table.of = make(map[string]*session), make(map[string]int)
	s.work.Go(s.pulse)
	return s
}

var (
	allowSession = []string{"GET, POST, DELETE, OPTIONS"}
	allowPost    = []string{"POST, OPTIONS"}
	allowGet     = []string{"GET, OPTIONS"}
)

// ServeMCP serves an MCP URL. principal is who asks; sessions are bound to it.
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

// otherMethod answers OPTIONS, and refuses what is left.
func otherMethod(w http.ResponseWriter, r *http.Request, allow []string) {
	w.Header()["Allow"] = allow
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	refuse(w, http.StatusMethodNotAllowed, jsonrpc.CodeInvalidRequest, "method not allowed")
}

// pulse wakes long calls that have said nothing yet, so that nothing between
// the client and us takes the connection for dead.
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
