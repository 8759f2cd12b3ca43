package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/stdio"
)

// A Session is one connection of the tester. Its methods may be called
// concurrently.
type Session struct {
	target Target
	opt    Options
	offer  mcp.Offer
	info   Info
	tap    *tap

	peer   jsonrpc.Peer
	conn   *jsonrpc.Conn
	passTo jsonrpc.Peer // everything goes to somebody else: a relay
	client *httpclient.Client
	child  *stdio.Child

	life   context.Context
	end    context.CancelFunc
	wg     sync.WaitGroup
	stood  sync.WaitGroup // standing requests
	calls  calls
	part   partings
	tools  atomic.Pointer[[]catalog.Item]
	down   sync.Once
	gone   chan struct{}
	closed sync.Once

	mu      sync.Mutex
	roots   []config.Root
	level   string
	closers []func()
	heard   listenings
}

func newSession(ctx context.Context, t Target, opt Options, era mcp.Era) *Session {
	s := &Session{target: t, opt: opt, tap: newTap(&t, opt.OnFrame), roots: opt.Roots, level: opt.LogLevel, gone: make(chan struct{}), part: newPartings()}
	s.info.Era = era
	switch {
	case len(opt.Capabilities) > 0:
		s.offer = mcp.ParseOffer(opt.Capabilities)
	case opt.Offer != nil:
		s.offer = *opt.Offer
	default:
		s.offer = mcp.Everything
	}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	return s
}

// Info is what the handshake said.
func (s *Session) Info() Info { return s.info }

// Target is what the session is connected to.
func (s *Session) Target() Target { return s.target }

// Frames returns what went over the wire so far, as far as it is kept.
func (s *Session) Frames() []Frame { return s.tap.since(0) }

// Stderr returns the last lines of a command's standard error.
func (s *Session) Stderr(n int) []string {
	if s.child == nil {
		return nil
	}
	return s.child.Stderr().Lines(n)
}

// Redact replaces the target's secrets.
func (s *Session) Redact(raw []byte) []byte {
	if raw == nil {
		return nil
	}
	return s.tap.redact(raw)
}

// Notify sends a notification as it is.
func (s *Session) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return s.peer.Notify(ctx, &jsonrpc.Notification{Method: method, Params: params})
}

// SetRoots changes what roots/list answers, and tells a legacy server.
func (s *Session) SetRoots(ctx context.Context, roots []config.Root) error {
	s.mu.Lock()
	s.roots = slices.Clone(roots)
	s.mu.Unlock()
	if s.info.Era == mcp.Modern || !s.offer.Roots {
		return nil
	}
	return s.Notify(ctx, mcp.NotificationRootsList, nil)
}

// SetLevel asks the server for its log: a legacy one at once, a modern one
// with every later request.
func (s *Session) SetLevel(ctx context.Context, level string) error {
	s.mu.Lock()
	s.level = level
	s.mu.Unlock()
	if s.info.Era == mcp.Modern {
		return nil
	}
	x, err := s.Call(ctx, mcp.MethodSetLevel, fmt.Appendf(nil, `{"level":%s}`, jsonrpc.Quote(level)), CallOptions{})
	if err != nil {
		return err
	}
	return x.Failure()
}

func (s *Session) logLevel() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.level == "" {
		return nil
	}
	return jsonrpc.Quote(s.level)
}

// paramHeaders are the arguments that a modern HTTP server wants repeated.
func (s *Session) paramHeaders(tool string, arguments []byte) http.Header {
	tools := s.tools.Load()
	if tools == nil {
		return nil
	}
	at := slices.IndexFunc(*tools, func(it catalog.Item) bool { return it.Key == tool })
	if at < 0 {
		return nil
	}
	header := make(http.Header)
	for _, p := range catalog.HeaderParams(&(*tools)[at]) {
		if text, ok := mcp.HeaderText(arguments, p.Path...); ok {
			header.Set(mcp.ParamHeaderPrefix+p.Header, text)
		}
	}
	return header
}

// lost notes that the connection is gone.
func (s *Session) lost(err error) {
	s.down.Do(func() {
		close(s.gone)
		if s.opt.OnDown != nil && s.life.Err() == nil {
			s.opt.OnDown(err)
		}
	})
}

func (s *Session) ended() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// Gone is closed when the connection has ended by itself.
func (s *Session) Gone() <-chan struct{} { return s.gone }

func (s *Session) onClose(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closers = append(s.closers, f)
}

// Close ends the connection, with its server where that is a command, and
// waits until nothing of ours is running.
func (s *Session) Close(ctx context.Context) {
	s.closed.Do(func() {
		s.end()
		s.stood.Wait()
		if s.conn != nil && !s.ended() {
			s.part.wait()
		}
		if s.child != nil {
			if err := s.child.Stop(ctx); err != nil {
				s.opt.Log.Warn("stopping the server", "err", err)
			}
		}
		if s.conn != nil {
			s.conn.Close()
		}
		if s.client != nil {
			if err := s.client.Close(ctx); err != nil {
				s.opt.Log.Debug("ending the session", "err", err)
			}
		}
		s.mu.Lock()
		closers := s.closers
		s.mu.Unlock()
		for _, f := range closers {
			f()
		}
	})
	s.wg.Wait()
}
