// Package listen holds the subscribers to the resources and tasks of a server,
// and keeps the subscriptions/listen request of a modern server open.
package listen

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
)

// Options connect a Listener to its connection.
type Options struct {
	Peer jsonrpc.Peer
	// Params returns the params of the next request.
	Params func() []byte
	// Hear is called with each notification of the server.
	Hear func(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification)
	// Missed is called after the request has ended, when changes may have been
	// missed.
	Missed func()
	// Done is closed when the connection has ended.
	Done <-chan struct{}
	// Gone is called if the server is unreachable. It ends the connection.
	Gone func(err error)
	Log  *slog.Logger
}

// A Listener keeps the one subscriptions/listen request of a modern server open.
// When the subscriptions change, it opens a new request, waits until that is
// acknowledged, and then cancels the old one, so that no notification is missed
// in between.
type Listener struct {
	opt    Options
	ctx    context.Context
	cancel context.CancelFunc

	latest atomic.Pointer[listening]
	late   atomic.Bool // a request was not acknowledged in time
	wg     sync.WaitGroup

	mu    sync.Mutex
	asked int           // how often a new request was requested
	dirty chan struct{} // closed and replaced when asked grows
	told  int           // the value of asked that the server has confirmed
	last  *listening    // the request that it confirmed
	moved chan struct{} // closed and replaced when told grows
}

// New returns a Listener that ends with the context.
func New(ctx context.Context, opt Options) *Listener {
	ctx, cancel := context.WithCancel(ctx)
	return &Listener{opt: opt, ctx: ctx, cancel: cancel, dirty: make(chan struct{}), moved: make(chan struct{})}
}

// Start opens the request. The server may acknowledge it before Start returns, so
// the caller must store the Listener before it calls Start.
func (n *Listener) Start() { n.wg.Go(n.run) }

// A listening is one open subscriptions/listen request.
type listening struct {
	listener *Listener
	cancel   context.CancelFunc
	params   []byte
	acked    chan struct{}
	once     sync.Once
	left     map[string]bool // the resources that the server left out; read after acked
	done     chan struct{}
	err      error          // read after done
	refusal  *jsonrpc.Error // the server's answer to the request; read after done
}

// Renew requests a new listen request with the current subscriptions.
func (n *Listener) Renew() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	close(n.dirty)
	n.dirty = make(chan struct{})
}

// changed returns a channel that is closed when asked exceeds covered.
func (n *Listener) changed(covered int) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked > covered {
		return closedChannel
	}
	return n.dirty
}

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// AwaitConfirmed waits until the server has confirmed the subscriptions as they were
// when Asked returned asked. From then on no update is missed. If the server does not
// confirm a request, that request counts as confirmed after ackWait.
func (n *Listener) AwaitConfirmed(ctx context.Context, asked int) {
	if n == nil {
		return
	}
	for {
		n.mu.Lock()
		done, moved := n.told >= asked, n.moved
		n.mu.Unlock()
		if done {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		case <-n.ctx.Done():
			return
		case <-n.opt.Done:
			return
		}
	}
}

// Asked returns how often a new request was requested so far.
func (n *Listener) Asked() int {
	if n == nil {
		return 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// confirm records that the server was told everything up to asked, with the request g.
func (n *Listener) confirm(asked int, g *listening) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told, n.last = asked, g
	close(n.moved)
	n.moved = make(chan struct{})
}

// Stop ends the request and waits for its end.
func (n *Listener) Stop() {
	if n == nil {
		return
	}
	n.cancel()
	n.wg.Wait()
}

const (
	ackWait        = 5 * time.Second
	listenGrace    = 500 * time.Millisecond
	listenBackoff  = time.Second
	listenMaxDelay = time.Minute
)

func (n *Listener) run() {
	delay := listenBackoff
	for {
		old := n.latest.Load()
		asked := n.Asked()
		cur := n.start()
		var again <-chan time.Time
		switch confirmed := cur.confirmed(); {
		case confirmed && len(cur.left) > 0:
			again = time.After(delay)
		case confirmed:
			delay = listenBackoff
		case cur.alive():
			n.late.Store(true)
		}
		n.confirm(asked, cur)
		if old != nil {
			// Notifications that the server sent before it knew the new request
			// are still in flight on the old one.
			time.AfterFunc(listenGrace, old.cancel)
		}
		select {
		case <-n.ctx.Done():
			<-cur.done
			return
		case <-n.opt.Done:
			cur.cancel()
			return
		case <-n.changed(asked):
		case <-again: // a client that has left makes it change at once, so others are subscribed to these
			n.opt.Log.Warn("the server does not accept all subscriptions again", "refused", len(cur.left))
			delay = min(delay*2, listenMaxDelay)
		case <-cur.done:
			if httpclient.NotSent(cur.err) {
				n.opt.Gone(cur.err) // the server is unreachable: connect again
				return
			}
			n.opt.Missed() // changes in between were missed
			select {
			case <-n.ctx.Done():
				return
			case <-n.changed(asked):
			case <-time.After(delay):
				delay = min(delay*2, listenMaxDelay)
			}
		}
	}
}

func (n *Listener) start() *listening {
	ctx, cancel := context.WithCancel(n.ctx)
	g := &listening{listener: n, cancel: cancel, params: n.opt.Params(), acked: make(chan struct{}), done: make(chan struct{})}
	n.latest.Store(g)
	n.wg.Go(func() {
		defer close(g.done)
		resp, err := n.opt.Peer.Call(ctx, &jsonrpc.Request{Method: mcp.MethodListen, Params: g.params, Back: g})
		g.err = err
		if resp != nil && resp.Err != nil {
			g.refusal = resp.Err
			n.opt.Log.Debug("subscription refused", "err", resp.Err)
		}
	})
	return g
}

// Handle refuses all requests: a modern server asks through results.
func (g *listening) Handle(_ context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return mcp.Refuse(req), nil
}

// HandleNotification handles a notification on the stream of the subscription.
func (g *listening) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	if n.Method == mcp.NotificationListening {
		g.listener.late.Store(false)
		g.acknowledge(leftOut(g.params, n.Params))
		return
	}
	params := jsonrpc.Set(n.Params, nil, "_meta", mcp.MetaSubscriptionID)
	g.listener.opt.Hear(ctx, from, &jsonrpc.Notification{Method: n.Method, Params: params})
}
