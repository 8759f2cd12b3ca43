package gateway

import (
	"context"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

const (
	parkTTL   = 10 * time.Minute
	parkGrace = 15 * time.Millisecond // collects questions that a server asks at once
	maxParks  = 10_000
)

var errExpired = i18n.Errorf("the client did not answer in time", "客户端未及时应答")

// A park is a call to a legacy server that waits for answers of a modern
// client. The client was told what is asked and went away; its retry resumes
// the call.
type park struct {
	id     string
	caller *upstream.Caller
	cancel context.CancelCauseFunc
	done   chan struct{} // the call is over: resp and err are set
	resp   *jsonrpc.Response
	err    error

	questions questions
	news      chan struct{}
	timer     *time.Timer

	mu   sync.Mutex
	from jsonrpc.Peer // the stream of the request that waits now; nil while parked
}

// Handle keeps a question of the server until the client has answered it.
func (k *park) Handle(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return k.questions.ask(ctx, req, func() {
		select {
		case k.news <- struct{}{}:
		default:
		}
	})
}

// tell makes the stream of a request the one where the call is heard; nil for
// nowhere.
func (k *park) tell(from jsonrpc.Peer) {
	k.mu.Lock()
	k.from = from
	k.mu.Unlock()
}

// HandleNotification passes on what the server says, while somebody listens.
func (k *park) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	k.mu.Lock()
	client := k.from
	k.mu.Unlock()
	if client != nil {
		modernBack{k.caller, client}.HandleNotification(ctx, from, n)
	}
}

// parkable runs a request during which a legacy server may ask. Where it does,
// the client is told what is asked, and the call waits for the client's retry.
func (s *Session) parkable(ctx context.Context, from jsonrpc.Peer, p party, req *jsonrpc.Request, finish func(string, []byte, bool) []byte) (*jsonrpc.Response, error) {
	resp, err := s.parked(ctx, from, p, req)
	if err == nil && resp.Err == nil {
		resp.Result = finish(mcp.LatestModern, resp.Result, resp.Owned())
	}
	return resp, err
}

func (s *Session) parked(ctx context.Context, from jsonrpc.Peer, p party, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if state, ok := jsonrpc.GetString(req.Params, "requestState"); ok {
		seal, ours, err := s.gw.seals.open(state, s.opening.Who.ID, digest(req))
		if err != nil {
			return nil, jsonrpc.InvalidParams("requestState is not valid")
		}
		if ours && seal.Park != "" {
			return s.resume(ctx, from, seal.Park, req)
		}
		if ours {
			req = withoutRetry(req, seal)
		} else if s.opening.Server == "" {
			return nil, jsonrpc.InvalidParams("requestState is not valid")
		}
	}
	if p.caller.Offer.Empty() {
		resp, err := s.forward(ctx, p, req)
		return s.finishRound(ctx, p, req, resp, err)
	}
	// The call may outlive this request, and so must its parameters.
	req = &jsonrpc.Request{Method: req.Method, Params: append([]byte(nil), req.Params...)}
	k := s.startPark(ctx, from, p, req)
	resp, err := s.waitPark(ctx, k, req)
	return s.finishRound(ctx, p, req, resp, err)
}

// startPark begins a call that can be left waiting.
func (s *Session) startPark(ctx context.Context, from jsonrpc.Peer, p party, req *jsonrpc.Request) *park {
	live, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	k := &park{
		id: randomID(), caller: p.caller, cancel: cancel, done: make(chan struct{}), from: from, news: make(chan struct{}, 1),
	}
	p.back = k
	s.gw.parks.wg.Go(func() {
		k.resp, k.err = s.forward(live, p, req)
		close(k.done)
	})
	return k
}

// waitPark waits for the end of the call or for questions.
func (s *Session) waitPark(ctx context.Context, k *park, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	select {
	case <-k.done:
		s.gw.parks.drop(k)
		return k.resp, k.err
	case <-ctx.Done():
		// Nobody listens any more, and nobody was told how to come back.
		k.cancel(context.Cause(ctx))
		s.gw.parks.drop(k)
		<-k.done
		return nil, context.Cause(ctx)
	case <-k.news:
	}
	grace := time.NewTimer(parkGrace)
	defer grace.Stop()
	select {
	case <-grace.C:
	case <-k.done:
		s.gw.parks.drop(k)
		return k.resp, k.err
	}
	return s.inputRequired(k, req)
}

// inputRequired tells the client what is asked and leaves the call waiting.
func (s *Session) inputRequired(k *park, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if !s.gw.parks.keep(k) {
		k.cancel(errExpired)
		return nil, mcp.Failure(mcp.Overloaded, "", "too many calls wait for answers of their clients")
	}
	k.tell(nil)
	return inputResult(jsonrpc.AsObject(k.questions.inputs()), s.seal(req, sealed{Park: k.id, Owner: s.gw.opt.Owner})), nil
}

// resume gives a waiting call the answers of its client.
func (s *Session) resume(ctx context.Context, from jsonrpc.Peer, id string, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	k := s.gw.parks.take(id)
	if k == nil {
		return nil, jsonrpc.InvalidParams("requestState is not valid any more")
	}
	k.tell(from)
	if k.questions.give(jsonrpc.Get(req.Params, "inputResponses")) > 0 {
		return s.inputRequired(k, req)
	}
	return s.waitPark(ctx, k, req)
}

// parks is every call that waits for its client.
type parks struct {
	ttl time.Duration
	mu  sync.Mutex
	by  map[string]*park
	wg  sync.WaitGroup
}

func (p *parks) keep(k *park) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.by) >= maxParks {
		return false
	}
	if p.by == nil {
		p.by = make(map[string]*park)
	}
	p.by[k.id] = k
	k.timer = time.AfterFunc(p.ttl, func() {
		if p.take(k.id) != nil {
			k.cancel(errExpired)
		}
	})
	return true
}

// take returns a waiting call once.
func (p *parks) take(id string) *park {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.by[id]
	delete(p.by, id)
	if k != nil && k.timer != nil {
		k.timer.Stop()
	}
	return k
}

func (p *parks) drop(k *park) { p.take(k.id) }

// close ends every waiting call and waits.
func (p *parks) close() {
	p.mu.Lock()
	for _, k := range p.by {
		k.cancel(errExpired)
	}
	p.mu.Unlock()
	p.wg.Wait()
}
