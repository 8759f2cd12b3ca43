package listen

import (
	"context"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// An Ask sends resources/subscribe or resources/unsubscribe to the server.
type Ask func(ctx context.Context, method, id string) (*jsonrpc.Response, error)

// A request tells the server to watch a topic, or to watch it no more. It belongs to
// all subscribers that wait for it: it goes on when one of them gives up, because only
// its answer says what the server does now.
type request struct {
	method  string
	epoch   int // of the connection
	waiting int
	cancel  context.CancelFunc
	cut     bool // canceled, because no subscriber waits any more
	done    chan struct{}
	resp    *jsonrpc.Response
	err     error
}

// request returns a new request. The caller holds the mutex.
func (s *Subscriptions) request(method string) *request {
	return &request{method: method, epoch: s.epoch, done: make(chan struct{}), cancel: func() {}}
}

func (r *request) failed() bool { return r.err != nil || r.resp.Err != nil }

// answer returns a copy of the response, because several subscribers get one.
func (r *request) answer() (*jsonrpc.Response, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.resp.Err != nil {
		return &jsonrpc.Response{Err: r.resp.Err}, nil
	}
	return empty(), nil
}

func empty() *jsonrpc.Response { return &jsonrpc.Response{Result: []byte(`{}`)} }

// Subscribe adds a subscriber of a principal and waits until the server watches the topic.
// If that fails, the subscriber is removed.
func (s *Subscriptions) Subscribe(ctx context.Context, principal, id string, who Subscriber, ask Ask) (*jsonrpc.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, _ := s.add(principal, id, who)
	for !t.told {
		r := t.asking
		if r == nil {
			r = s.request(mcp.MethodSubscribe)
			asked, cancel := context.WithCancel(context.WithoutCancel(ctx))
			r.cancel, t.asking = cancel, r
			go s.run(asked, id, t, r, ask)
		}
		r.waiting++
		s.mu.Unlock()
		var gone error
		select {
		case <-r.done:
		case <-ctx.Done():
			gone = context.Cause(ctx)
		}
		s.mu.Lock()
		r.waiting--
		switch {
		case gone != nil:
			if _, last := s.remove(id, who); last && r.waiting == 0 && r == t.asking && r.method == mcp.MethodSubscribe {
				r.cut = true
				r.cancel()
			}
			s.settle(id, t, ask)
			return nil, gone
		case r.method != mcp.MethodSubscribe || r.cut:
			// Now it can be asked.
		case r.failed():
			s.remove(id, who)
			s.settle(id, t, ask)
			return r.answer()
		default:
			return r.answer()
		}
	}
	return empty(), nil
}

// Unsubscribe removes a subscriber. If it is the last one, Unsubscribe waits until the
// server has been told, which happens even if ctx ends.
func (s *Subscriptions) Unsubscribe(ctx context.Context, id string, who Subscriber, ask Ask) (*jsonrpc.Response, error) {
	s.mu.Lock()
	t, last := s.remove(id, who)
	if !last {
		s.mu.Unlock()
		return empty(), nil
	}
	s.settle(id, t, ask)
	r := t.leaving
	s.mu.Unlock()
	if r == nil {
		return empty(), nil
	}
	select {
	case <-r.done:
		return r.answer()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// run sends a request of a topic.
func (s *Subscriptions) run(ctx context.Context, id string, t *topic, r *request, ask Ask) {
	resp, err := ask(ctx, r.method, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	r.cancel()
	r.resp, r.err, t.asking = resp, err, nil
	asked := r.method == mcp.MethodSubscribe && r.epoch == s.epoch
	t.doubt = asked && (r.cut || err != nil)
	t.told = asked && !r.cut && !r.failed()
	close(r.done)
	s.settle(id, t, ask)
}

// runShort is run for a request for which no client waits: one that hangs does not keep
// the others waiting for long.
func (s *Subscriptions) runShort(ctx context.Context, id string, t *topic, r *request, ask Ask) {
	ctx, cancel := context.WithTimeout(ctx, shortWait)
	defer cancel()
	s.run(ctx, id, t, r, ask)
}
