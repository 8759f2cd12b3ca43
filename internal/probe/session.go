package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

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
	passTo jsonrpc.Peer // everything goes to somebody else: a relay

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

// Info is what the handshake said.
func (s *Session) Info() Info { return s.info }

// Target is what the session is connected to.
func (s *Session) Target() Target { return s.link.target }

// Frames returns what went over the wire so far, as far as it is kept.
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

// Notify sends a notification as it is.
func (s *Session) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return s.link.peer.Notify(ctx, &jsonrpc.Notification{Method: method, Params: params})
}

// SetRoots changes what roots/list answers, and tells a legacy server.
func (s *Session) SetRoots(ctx context.Context, roots []config.Root) error {
	roots = slices.Clone(roots)
	s.questions.roots.Store(&roots)
	if s.info.Era == mcp.Modern || !s.identity.offer.Roots {
		return nil
	}
	return s.Notify(ctx, mcp.NotificationRootsList, nil)
}

// SetLevel asks the server for its log: a legacy one at once, a modern one
// with every later request.
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

// Gone is closed when the connection has ended by itself.
func (s *Session) Gone() <-chan struct{} { return s.link.gone }

// Close ends the connection, with its server where that is a command, and
// waits until nothing of ours is running.
func (s *Session) Close(ctx context.Context) {
	s.closed.Do(func() {
		s.link.end()
		s.subscriptions.wg.Wait()
		s.link.close(ctx)
	})
	s.link.wg.Wait()
}
