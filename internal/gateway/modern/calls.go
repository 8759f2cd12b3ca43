package modern

import (
	"context"
	"fmt"
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

	// maxWaiting bounds the waiting calls, maxWaitingKey those of one principal.
	maxWaiting    = 10_000
	maxWaitingKey = maxWaiting / 4
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

	release   func() // ends the count of a result that the client has not fetched; nil if none counts
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
	// Shares reports whether a principal may have no more than its share of the
	// calls; nil means that all principals do.
	Shares func(principal string) bool
	// Weigh counts memory for a principal until release is called, or returns an
	// error if the principal has its share; nil counts nothing.
	Weigh func(principal string, n int) (release func(), err error)

	mu sync.Mutex
	by map[string]*Call
	of map[string]int // by principal
	wg sync.WaitGroup
}

// Start begins a call of a principal that can be left waiting. Until then
// notifications go to back.
func (p *Calls) Start(ctx context.Context, principal string, back Back, run func(context.Context, jsonrpc.Handler) (*jsonrpc.Response, error)) *Call {
	live, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	k := &Call{ID: RandomID(), principal: principal, began: live, cancel: cancel, done: make(chan struct{}), back: back, news: make(chan struct{}, 1)}
	p.wg.Go(func() {
		p.end(k, run)
		close(k.done)
	})
	return k
}

// end runs a call to its end. If the call waits for its client, the result counts
// until the client fetches it.
func (p *Calls) end(k *Call, run func(context.Context, jsonrpc.Handler) (*jsonrpc.Response, error)) {
	resp, err := run(k.began, k)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by[k.ID] == k && p.Weigh != nil && resp != nil {
		var full error
		if k.release, full = p.Weigh(k.principal, len(resp.Result)); full != nil {
			resp.Release()
			resp, err = nil, full
		}
	}
	k.resp, k.err = resp, err
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
	if full := p.keep(k); full != "" {
		k.cancel(ErrExpired)
		return nil, mcp.Failure(mcp.Overloaded, "", full)
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

// keep leaves a call waiting. If it may not wait, keep returns why.
func (p *Calls) keep(k *Call) (full string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case len(p.by) >= maxWaiting:
		return "too many calls wait for answers of their clients"
	case p.of[k.principal] >= maxWaitingKey && (p.Shares == nil || p.Shares(k.principal)):
		return fmt.Sprintf("%d calls of this key wait for its answers, which is its share: answer some first", maxWaitingKey)
	}
	if p.by == nil {
		p.by, p.of = make(map[string]*Call), make(map[string]int)
	}
	p.by[k.ID] = k
	p.of[k.principal]++
	k.timer = time.AfterFunc(p.TTL, func() {
		if p.take(k.ID) != nil {
			k.cancel(ErrExpired)
		}
	})
	return ""
}

// take removes and returns a waiting call.
func (p *Calls) take(id string) *Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.by[id]
	if k == nil {
		return nil
	}
	delete(p.by, id)
	if p.of[k.principal]--; p.of[k.principal] == 0 {
		delete(p.of, k.principal)
	}
	if k.timer != nil {
		k.timer.Stop()
	}
	if k.release != nil {
		k.release()
		k.release = nil
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
