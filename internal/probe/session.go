package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Session is one connection of the tester. Its methods may be called
// concurrently.
type Session struct {
	opt    Options
	info   Info
	link   connection
	passTo jsonrpc.Peer // set in a relay: receives all messages

	identity      identity
	questions     questions
	subscriptions subscriptions
	calls         calls
	tools         toolList
	closed        sync.Once
}

func newSession(ctx context.Context, t Target, opt Options, era mcp.Era) *Session {
	s := &Session{opt: opt, info: Info{Era: era}}
	s.identity.init(&opt)
	s.questions.offer, s.questions.answerer = s.identity.offer, opt.Answer
	s.questions.roots.Store(&opt.Roots)
	s.subscriptions.link = &s.link
	s.link.init(ctx, t, opt)
	s.link.modern, s.link.handler, s.link.headers = era == mcp.Modern, s, s.tools.paramHeaders
	return s
}

// Info returns the result of the handshake.
func (s *Session) Info() Info { return s.info }

// Target returns the target of the session.
func (s *Session) Target() Target { return s.link.target }

// Frames returns the recorded frames that are still kept.
func (s *Session) Frames() []Frame { return s.link.tap.since(0) }

// Stderr returns the last lines of a command's standard error.
func (s *Session) Stderr(n int) []string {
	if s.link.child == nil {
		return nil
	}
	return s.link.child.Stderr().Lines(n)
}

// Redact replaces the target's secrets.
func (s *Session) Redact(raw []byte) []byte {
	if raw == nil {
		return nil
	}
	return s.link.tap.redact(raw)
}

// Notify sends a notification unchanged.
func (s *Session) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return s.link.peer.Notify(ctx, &jsonrpc.Notification{Method: method, Params: params})
}

// SetRoots changes the answer to roots/list, and notifies a legacy server.
func (s *Session) SetRoots(ctx context.Context, roots []config.Root) error {
	roots = slices.Clone(roots)
	s.questions.roots.Store(&roots)
	if s.info.Era == mcp.Modern || !s.identity.offer.Roots {
		return nil
	}
	return s.Notify(ctx, mcp.NotificationRootsList, nil)
}

// SetLevel sets the log level: immediately at a legacy server, with every later
// request at a modern one.
func (s *Session) SetLevel(ctx context.Context, level string) error {
	s.identity.level.Store(&level)
	if s.info.Era == mcp.Modern {
		return nil
	}
	x, err := s.Call(ctx, mcp.MethodSetLevel, fmt.Appendf(nil, `{"level":%s}`, jsonrpc.Quote(level)), CallOptions{})
	if err != nil {
		return err
	}
	return x.Failure()
}

// Gone is closed when the connection has ended on its own.
func (s *Session) Gone() <-chan struct{} { return s.link.gone }

// Farewell bounds the time for closing a connection.
const Farewell = 10 * time.Second

// Close ends the connection, and its command if there is one, and waits for all
// goroutines of the session. It does so even if ctx is done.
func (s *Session) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Farewell)
	defer cancel()
	s.closed.Do(func() {
		s.link.end()
		s.subscriptions.wg.Wait()
		s.link.close(ctx)
	})
	s.link.wg.Wait()
}
