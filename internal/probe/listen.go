package probe

import (
	"context"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// ackWait limits the time for a modern server to confirm a subscription.
const ackWait = 5 * time.Second

// listChanges are the params that subscribe to the changes of all lists.
var listChanges = []byte(`{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`)

// subscriptions are the open requests that let a modern server send messages
// outside any call.
type subscriptions struct {
	link    *connection
	wg      sync.WaitGroup // open subscriptions
	mu      sync.Mutex
	waiting []chan struct{} // unconfirmed subscriptions
}

// acknowledged confirms the oldest subscription: over a pipe only the order
// tells which one is meant.
func (s *subscriptions) acknowledged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 {
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
	}
}

// open keeps one subscription open until stop is called.
func (s *subscriptions) open(req *jsonrpc.Request) (confirmed <-chan struct{}, ended <-chan error, stop func()) {
	ctx, cancel := context.WithCancel(s.link.life)
	ack := make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, ack)
	s.mu.Unlock()
	done := make(chan error, 1)
	s.wg.Go(func() {
		resp, err := s.link.peer.Call(ctx, req)
		if err == nil && resp.Err != nil {
			err = resp.Err
		}
		if ctx.Err() != nil {
			signal(s.link.part.due)
		}
		done <- err
	})
	return ack, done, cancel
}

var errNotConfirmed = i18n.Errorf("the server did not confirm the subscription in time", "服务器未及时确认订阅")

// await opens a subscription and waits until the server has confirmed it.
func (s *subscriptions) await(ctx context.Context, req *jsonrpc.Request) (func(), error) {
	confirmed, ended, stop := s.open(req)
	select {
	case <-confirmed:
		return stop, nil
	case err := <-ended:
		stop()
		if err == nil {
			err = i18n.Errorf("the server ended the subscription at once", "服务器立即结束了订阅")
		}
		return nil, err
	case <-time.After(ackWait):
		stop()
		return nil, errNotConfirmed
	case <-ctx.Done():
		stop()
		return nil, context.Cause(ctx)
	}
}

func (s *Session) listenRequest(params []byte) *jsonrpc.Request {
	return &jsonrpc.Request{Method: mcp.MethodListen, Params: s.identity.withMeta(params, s.info.Version), Back: back{s, nil}}
}

// Subscribe makes the server send changes of a resource until stop is called.
func (s *Session) Subscribe(ctx context.Context, uri string) (stop func(context.Context) error, err error) {
	if s.info.Era == mcp.Modern {
		params := jsonrpc.Set([]byte(`{"notifications":{}}`), append(append([]byte{'['}, jsonrpc.Quote(uri)...), ']'), "notifications", "resourceSubscriptions")
		cancel, err := s.subscriptions.await(ctx, s.listenRequest(params))
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
	s.link.openStream()
	return func(ctx context.Context) error {
		x, err := s.Call(ctx, mcp.MethodUnsubscribe, params, CallOptions{})
		if err != nil {
			return err
		}
		return x.Failure()
	}, nil
}
