package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/gateway/entry"
	"mcp-all-in-one/internal/gateway/refusal"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// A Session answers one client. It implements jsonrpc.Handler.
type Session struct {
	dispatcher
	greetOnce sync.Once
}

// Close ends the session with its subscriptions and connections.
func (s *Session) Close() {
	left, first := s.subscriptions.book.Close()
	if !first {
		return
	}
	s.gw.forget(s)
	s.account.bill()
	leave(left...)
	s.gw.memory.Book.Give(s.opening.Who.ID, int64(s.keeps.End()))
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
	case mcp.MethodUnsubscribe:
		return s.subscriptions.unsubscribe(ctx, req)
	case mcp.MethodSetLevel:
		return s.setLevel(ctx, req)
	case mcp.MethodShutdown:
		return s.opening.shutdown()
	case mcp.MethodRootsList:
		return s.line.inboundRoots()
	case mcp.MethodSampling, mcp.MethodElicit:
		return s.answer(ctx, s.request(s.plain(ctx, from), req))
	}
	return s.forward(ctx, s.plain(ctx, from), req)
}

// HandleNotification takes one notification of the client.
func (s *Session) HandleNotification(ctx context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	switch n.Method {
	case mcp.NotificationInitialized:
		s.greet(s.caller)
	case mcp.NotificationRootsList:
		s.line.roots.Changed()
		s.sender.tell(ctx, n, false)
	case mcp.NotificationExit, "exit":
		if s.opening.Stdio && s.gw.opt.Exit != nil {
			s.gw.opt.Exit()
		}
	}
}

// greet passes the client's name and capabilities on to the handshakes with the
// servers of a stdio session.
func (s *Session) greet(c *upstream.Caller) {
	if g := s.gw.opt.Greeting; g != nil {
		s.greetOnce.Do(func() { g.Set(c) })
	}
}

// shutdown ends this session after the answer. A remote client cannot stop the
// process, because other clients share it.
func (o *Opening) shutdown() (*jsonrpc.Response, error) {
	if o.End != nil {
		o.End()
	}
	return empty(), nil
}

func empty() *jsonrpc.Response { return &jsonrpc.Response{Result: []byte(`{}`)} }

// list answers one of the four lists from memory, as one page.
func (s *Session) list(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if err := s.gw.memory.Reads(s.opening.Who.ID); err != nil {
		return nil, err
	}
	s.startup.awaitAll(ctx)
	now := s.look()
	s.announced.CompareAndSwap(nil, now)
	if req.Method == mcp.MethodToolsList {
		s.keep(now)
		s.account.showed(now)
	}
	return s.startup.unfinished(now.List(req, s.listView))
}

// plain returns the client of a request of a legacy session.
func (s *Session) plain(ctx context.Context, from jsonrpc.Peer) requestClient {
	p := requestClient{caller: s.caller, rules: s.rules, roots: &s.line.roots}
	if t := entry.Traced(ctx); t != nil && t.Back != nil {
		p.back = t.Back
	} else {
		p.back = &back{line: &s.line, from: from}
	}
	return p
}

// setLevel answers logging/setLevel. On stdio it also sets the level of the
// gateway's own log, because there is only one client.
func (s *Session) setLevel(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	raw := jsonrpc.Get(req.Params, "level")
	given, isString := jsonrpc.GetString(req.Params, "level")
	level, ok := mcp.ParseLevel(given)
	if !isString || !ok {
		return nil, refusal.BadLevel(raw, given, s.seed)
	}
	s.line.level.Store(&level)
	if s.opening.Stdio && s.gw.opt.Level != nil {
		s.gw.opt.Level.Set(mcp.SlogLevel(level))
	}
	s.caller.SetLogLevel(level)
	s.sender.setLevel(ctx, level)
	if !s.seed {
		return empty(), nil
	}
	return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"success":true,"level":%s,"message":%s}`,
		jsonrpc.Quote(given), jsonrpc.Quote("Log level set to "+given))}, nil
}

// Bound reports whether a server will run a process for this session alone. Its
// state would be lost if the session moved to another replica.
func (s *Session) Bound() bool {
	return slices.ContainsFunc(s.upstreams(), func(u *upstream.Upstream) bool { return upstream.Alone(u, s.caller) })
}

// Alone is like Bound for the processes that have run for this session so far. It is
// cheap.
func (s *Session) Alone() bool { return s.caller.Alone() }

// recorded answers a request and records it.
func (s *Session) recorded(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	ctx, t := s.journal.Begin(ctx, s.opening.Via, req, s.opening.Server, entry.Subject(req.Params))
	if t != nil {
		t.Back = &back{&s.line, from, t.ID}
	}
	resp, err := s.handle(ctx, from, req)
	s.journal.End(ctx, t, resp, err)
	t.LeadsTo((*target)(nil)) // a call that waits for its client keeps the trace
	return resp, err
}
