package modern

import (
	"context"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

const (
	// TTL is how long a call waits for the client's answers.
	TTL = 10 * time.Minute

	// grace is how long a round waits for the next question of a server that
	// asks several at once, and maxGrace for all of them.
	grace    = 15 * time.Millisecond
	maxGrace = 10 * grace

	maxWaiting = 10_000
)

// ErrExpired ends a call whose client did not answer in time.
var ErrExpired = i18n.Errorf("the client did not answer in time", "客户端未及时应答")

// A Call is a call to a legacy server that waits for answers of a modern
// client. The client got the questions as the result of its request; its next
// request resumes the call.
type Call struct {
	ID        string
	principal string
	began     context.Context // of the request that began it
	cancel    context.CancelCauseFunc
	done      chan struct{} // the call is over: resp and err are set
	resp      *jsonrpc.Response
	err       error

	questions Questions
	news      chan struct{}
	timer     *time.Timer

	mu   sync.Mutex
	back Back // to the request that waits now; none while no request waits
}

// Handle keeps a question of the server until the client has answered it.
func (k *Call) Handle(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return k.questions.Ask(ctx, req, func() {
		select {
		case k.news <- struct{}{}:
		default:
		}
	})
}

// tell sends the notifications of the call to the stream of a request; nil for
// none.
func (k *Call) tell(from jsonrpc.Peer) {
	k.mu.Lock()
	k.back.From = from
	k.mu.Unlock()
}

// HandleNotification passes a server's notification on while a request waits.
func (k *Call) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	k.mu.Lock()
	back := k.back
	k.mu.Unlock()
	if back.From != nil {
		back.HandleNotification(ctx, from, n)
	}
}

// Calls are the calls that wait for their clients, each for TTL at most.
type Calls struct {
	TTL time.Duration
	mu  sync.Mutex
	by  map[string]*Call
	wg  sync.WaitGroup
}

// Start begins a call of a principal that can be left waiting. Until then
// notifications go to back.
func (p *Calls) Start(ctx context.Context, principal string, back Back, run func(context.Context, jsonrpc.Handler) (*jsonrpc.Response, error)) *Call {
	live, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	k := &Call{ID: RandomID(), principal: principal, began: live, cancel: cancel, done: make(chan struct{}), back: back, news: make(chan struct{}, 1)}
	p.wg.Go(func() {
		k.resp, k.err = run(live, k)
		close(k.done)
	})
	return k
}

// Wait waits until a call ends or asks a question.
func (p *Calls) Wait(ctx context.Context, k *Call) (asks bool, resp *jsonrpc.Response, err error) {
	var quiet, late <-chan time.Time // the end of the round
	for {
		select {
		case <-k.done:
			p.drop(k)
			return false, k.resp, k.err
		case <-ctx.Done():
			// The request is over, and the client got no handle to come back with.
			k.cancel(context.Cause(ctx))
			p.drop(k)
			<-k.done
			return false, nil, context.Cause(ctx)
		case <-k.news:
			quiet = time.After(grace)
			if late == nil {
				late = time.After(maxGrace)
			}
			continue
		case <-quiet:
		case <-late:
		}
		if k.questions.Open() > 0 {
			return true, nil, nil
		}
		quiet, late = nil, nil // the server took them back, or the round before had them
	}
}

// Leave leaves a call waiting and returns its questions.
func (p *Calls) Leave(k *Call) (inputs []byte, err error) {
	if !p.keep(k) {
		k.cancel(ErrExpired)
		return nil, mcp.Failure(mcp.Overloaded, "", "too many calls wait for answers of their clients")
	}
	k.tell(nil)
	return jsonrpc.AsObject(k.questions.Inputs()), nil
}

// Resume gives a waiting call the client's answers and returns the number of
// open questions. The call is nil if it no longer waits.
func (p *Calls) Resume(id string, from jsonrpc.Peer, answers []byte) (k *Call, left int) {
	if k = p.take(id); k == nil {
		return nil, 0
	}
	k.tell(from)
	return k, k.questions.Give(answers)
}

func (p *Calls) keep(k *Call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.by) >= maxWaiting {
		return false
	}
	if p.by == nil {
		p.by = make(map[string]*Call)
	}
	p.by[k.ID] = k
	k.timer = time.AfterFunc(p.TTL, func() {
		if p.take(k.ID) != nil {
			k.cancel(ErrExpired)
		}
	})
	return true
}

// take removes and returns a waiting call.
func (p *Calls) take(id string) *Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.by[id]
	delete(p.by, id)
	if k != nil && k.timer != nil {
		k.timer.Stop()
	}
	return k
}

func (p *Calls) drop(k *Call) { p.take(k.ID) }

// End ends the waiting calls of a principal that lost access.
func (p *Calls) End(principal string, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.by {
		if k.principal == principal {
			k.cancel(why)
		}
	}
}

// Close ends every waiting call and waits.
func (p *Calls) Close() {
	p.mu.Lock()
	for _, k := range p.by {
		k.cancel(ErrExpired)
	}
	p.mu.Unlock()
	p.wg.Wait()
}
