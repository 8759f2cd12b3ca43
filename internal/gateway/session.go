package gateway

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/gateway/refusal"
	"mcp-all-in-one/internal/gateway/roots"
	"mcp-all-in-one/internal/gateway/view"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/receipt"
	"mcp-all-in-one/internal/upstream"
)

// A Session answers one client. It implements jsonrpc.Handler.
type Session struct {
	gw      *Gateway
	opening Opening
	caller  *upstream.Caller
	scope   string // what the principal sees, see access.Principal.Sight

	// seed is the dialect of the source documents.
	seed    bool
	version string
	rules   mcp.Version
	level   atomic.Pointer[string]
	name    atomic.Pointer[string] // what the client calls itself
	opened  time.Time
	calls   atomic.Int64
	heard   atomic.Int64                // when it last asked something: nanoseconds since it was opened
	tally   receipt.Tally               // what it was shown
	picked  atomic.Pointer[view.Choice] // the mode that it keeps
	roots   roots.Told

	greetOnce sync.Once
	waitOnce  sync.Once
	view      atomic.Pointer[view.View]

	mu          sync.Mutex
	initialized bool
	closed      bool
	subs        map[string]*upstream.Upstream // by the uri that the client used
	announced   *view.View                    // what it was last told about
}

// Version is the negotiated protocol version, empty before initialize.
func (s *Session) Version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Close ends the session: its subscriptions, its own connections.
func (s *Session) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	subs := s.subs
	s.subs = nil
	s.mu.Unlock()
	s.gw.forget(s)
	s.bill()
	if len(subs) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), closeWait)
		for uri, u := range subs {
			s.endSubscription(ctx, u, uri)
		}
		cancel()
	}
	s.caller.Close()
}

// Handle answers one request of the client.
func (s *Session) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	s.calls.Add(1)
	s.heard.Store(int64(time.Since(s.opened)))
	if s.gw.log.Enabled(ctx, slog.LevelDebug) {
		s.gw.log.Debug("request", "session", s.caller.Session, "method", refusal.Clip(req.Method), "bytes", len(req.Params))
	}
	if s.gw.record.Watched() && !s.opening.Peer { // the other replica keeps the record
		return s.recorded(ctx, from, req)
	}
	return s.handle(ctx, from, req)
}

func (s *Session) handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if mcp.SaysVersion(req.Params) {
		return s.handleModern(ctx, from, req)
	}
	if req.Method == mcp.MethodInitialize {
		return s.initialize(ctx, req)
	}
	s.greet(s.caller)
	switch req.Method {
	case mcp.MethodPing:
		return empty(), nil
	case mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodTemplatesList:
		return s.list(ctx, req)
	case mcp.MethodToolsCall:
		resp, err := s.forward(ctx, s.plain(ctx, from), req)
		if err == nil && resp.Err == nil {
			resp.Result = s.finishTool(resp.Result)
		}
		return resp, err
	case mcp.MethodResourcesRead:
		resp, err := s.forward(ctx, s.plain(ctx, from), req)
		if err == nil && resp.Err != nil {
			resp.Err = refusal.LegacyNotFound(resp.Err)
		}
		return resp, err
	case mcp.MethodSubscribe:
		return s.subscribe(ctx, s.plain(ctx, from), req)
	case mcp.MethodUnsubscribe:
		return s.unsubscribe(ctx, req)
	case mcp.MethodSetLevel:
		return s.setLevel(ctx, req)
	case mcp.MethodShutdown:
		return s.opening.shutdown()
	case mcp.MethodRootsList:
		return s.inboundRoots()
	case mcp.MethodSampling, mcp.MethodElicit:
		return s.inboundQuestion(ctx, req)
	}
	return s.forward(ctx, s.plain(ctx, from), req)
}

// HandleNotification takes one notification of the client.
func (s *Session) HandleNotification(ctx context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	switch n.Method {
	case mcp.NotificationInitialized:
		s.greet(s.caller)
	case mcp.NotificationRootsList:
		s.roots.Changed()
		s.tellServers(ctx, n, false)
	case mcp.NotificationExit, "exit":
		if s.opening.Stdio && s.gw.opt.Exit != nil {
			s.gw.opt.Exit()
		}
	}
}

// greet lets the servers of a stdio session be greeted with what its client
// says about itself.
func (s *Session) greet(c *upstream.Caller) {
	if g := s.gw.opt.Greeting; g != nil {
		s.greetOnce.Do(func() { g.Set(c) })
	}
}

// shutdown ends this session once it is answered. A remote client never stops
// the process that others share.
func (o *Opening) shutdown() (*jsonrpc.Response, error) {
	if o.End != nil {
		o.End()
	}
	return empty(), nil
}

func empty() *jsonrpc.Response { return &jsonrpc.Response{Result: []byte(`{}`)} }
