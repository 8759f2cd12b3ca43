package probe

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// ackWait is how long a modern server may take to confirm a subscription.
const ackWait = 5 * time.Second

// listenings are the subscriptions that a modern server has not confirmed yet.
type listenings struct {
	mu      sync.Mutex
	waiting []chan struct{}
}

func (l *listenings) expect() chan struct{} {
	ch := make(chan struct{})
	l.mu.Lock()
	l.waiting = append(l.waiting, ch)
	l.mu.Unlock()
	return ch
}

// acknowledged confirms the oldest: over a pipe nothing but the order tells.
func (l *listenings) acknowledged(json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) > 0 {
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
	}
}

// listen opens the stream on which a server speaks outside any call, where
// there is one.
func (s *Session) listen() {
	if s.info.Era == mcp.Legacy {
		if s.client != nil {
			s.client.OpenStream(s.life)
		}
		return
	}
	s.standing([]byte(`{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`))
}

// standing keeps one subscription of a modern server open until stop.
func (s *Session) standing(params []byte) (confirmed <-chan struct{}, ended <-chan error, stop func()) {
	ctx, cancel := context.WithCancel(s.life)
	ack := s.heard.expect()
	done := make(chan error, 1)
	s.stood.Go(func() {
		resp, err := s.peer.Call(ctx, &jsonrpc.Request{Method: mcp.MethodListen, Params: s.withMeta(params), Back: back{s, nil}})
		if err == nil && resp.Err != nil {
			err = resp.Err
		}
		if ctx.Err() != nil {
			signal(s.part.due)
		}
		done <- err
	})
	return ack, done, cancel
}

var errNotConfirmed = i18n.Errorf("the server did not confirm the subscription in time", "服务未及时确认订阅")

// Listen makes a server speak outside any call until stop: a modern one needs
// a subscription of its own for that, a legacy HTTP one a stream.
func (s *Session) Listen(ctx context.Context) (stop func(), err error) {
	if s.info.Era == mcp.Legacy {
		s.listen()
		return func() {}, nil
	}
	return s.await(ctx, []byte(`{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`))
}

func (s *Session) await(ctx context.Context, params []byte) (func(), error) {
	confirmed, ended, stop := s.standing(params)
	timer := time.NewTimer(ackWait)
	defer timer.Stop()
	select {
	case <-confirmed:
		return stop, nil
	case err := <-ended:
		stop()
		if err == nil {
			err = i18n.Errorf("the server ended the subscription at once", "服务立即结束了订阅")
		}
		return nil, err
	case <-timer.C:
		stop()
		return nil, errNotConfirmed
	case <-ctx.Done():
		stop()
		return nil, context.Cause(ctx)
	}
}

// Subscribe makes the server tell of changes of a resource until stop.
func (s *Session) Subscribe(ctx context.Context, uri string) (stop func(context.Context) error, err error) {
	if s.info.Era == mcp.Modern {
		params := jsonrpc.Set([]byte(`{"notifications":{}}`), append(append([]byte{'['}, jsonrpc.Quote(uri)...), ']'), "notifications", "resourceSubscriptions")
		cancel, err := s.await(ctx, params)
		if err != nil {
			return nil, err
		}
		return func(context.Context) error { cancel(); return nil }, nil
	}
	params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(uri), "uri")
	x, err := s.Call(ctx, mcp.MethodSubscribe, params, CallOptions{})
	if err == nil {
		err = x.Failure()
	}
	if err != nil {
		return nil, err
	}
	s.listen()
	return func(ctx context.Context) error {
		x, err := s.Call(ctx, mcp.MethodUnsubscribe, params, CallOptions{})
		if err != nil {
			return err
		}
		return x.Failure()
	}, nil
}
