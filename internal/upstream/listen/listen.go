// Package listen holds who subscribed to the resources and tasks of a server, and
// keeps the request open by which a modern server tells of them.
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

// Options are what a Listener needs of its connection.
type Options struct {
	Peer jsonrpc.Peer
	// Params are the params of the next request.
	Params func() []byte
	// Hear hears what the server tells.
	Hear func(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification)
	// Missed is called when the request ended, so that changes may not have been
	// heard.
	Missed func()
	// Done is closed when the connection has ended.
	Done <-chan struct{}
	// Gone is called when the server cannot be reached, which ends the
	// connection.
	Gone func(err error)
	Log  *slog.Logger
}

// A Listener keeps the one subscriptions/listen request of a modern server
// open. When the wanted resources change it opens a new one, waits until it is
// acknowledged, and lets the old one go, so that nothing is missed between.
type Listener struct {
	opt    Options
	ctx    context.Context
	cancel context.CancelFunc

	latest atomic.Pointer[listening]
	wg     sync.WaitGroup

	mu    sync.Mutex
	asked int           // how often a new request was asked for
	dirty chan struct{} // closed and replaced when asked grows
	told  int           // the part of asked that the server was told
	moved chan struct{} // closed and replaced when told grows
}

// New returns a Listener that ends with the context.
func New(ctx context.Context, opt Options) *Listener {
	ctx, cancel := context.WithCancel(ctx)
	return &Listener{opt: opt, ctx: ctx, cancel: cancel, dirty: make(chan struct{}), moved: make(chan struct{})}
}

// Start opens the request. A server may confirm it before Start returns, so the
// caller keeps the Listener before it calls Start.
func (n *Listener) Start() { n.wg.Go(n.run) }

// A listening is one open subscriptions/listen request.
type listening struct {
	listener *Listener
	cancel   context.CancelFunc
	acked    chan struct{}
	once     sync.Once
	done     chan struct{}
	err      error // read after done
}

// Again asks for a new request with what is wanted now.
func (n *Listener) Again() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	close(n.dirty)
	n.dirty = make(chan struct{})
}

// changed is closed once more was asked for than the present request covers.
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

// Settle waits until the server has confirmed all that was asked for: what
// happens from then on is heard. A server that does not confirm is waited for
// as long as one request is.
func (n *Listener) Settle(ctx context.Context) {
	if n == nil {
		return
	}
	n.mu.Lock()
	target := n.asked
	n.mu.Unlock()
	for {
		n.mu.Lock()
		done, moved := n.told >= target, n.moved
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

// asking is how much was asked for before the next request.
func (n *Listener) asking() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// confirm notes that so much was told to the server.
func (n *Listener) confirm(asked int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told = asked
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
		asked := n.asking()
		cur := n.start()
		if cur.confirmed() {
			delay = listenBackoff
		}
		n.confirm(asked)
		if old != nil {
			// What the server said before it knew the new request is on its way
			// on the old one.
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
		case <-cur.done:
			if httpclient.NotSent(cur.err) {
				n.opt.Gone(cur.err) // there is nobody: connect anew
				return
			}
			n.opt.Missed() // what changed meanwhile was not heard
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
	g := &listening{listener: n, cancel: cancel, acked: make(chan struct{}), done: make(chan struct{})}
	params := n.opt.Params()
	n.latest.Store(g)
	n.wg.Go(func() {
		defer close(g.done)
		resp, err := n.opt.Peer.Call(ctx, &jsonrpc.Request{Method: mcp.MethodListen, Params: params, Back: g})
		g.err = err
		if err == nil && resp.Err != nil {
			n.opt.Log.Debug("subscription refused", "err", resp.Err)
		}
	})
	return g
}

// Params ask for the changes of all lists, of these resources and of these tasks.
func Params(uris, tasks []string) []byte {
	params := []byte(`{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`)
	return withIDs(withIDs(params, "resourceSubscriptions", uris), "taskIds", tasks)
}

// withIDs adds a filter to the notifications that are asked for.
func withIDs(params []byte, filter string, ids []string) []byte {
	if len(ids) == 0 {
		return params
	}
	list := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, jsonrpc.Quote(id)...)
	}
	return jsonrpc.Set(params, append(list, ']'), "notifications", filter)
}

// Acknowledged notes that the server confirmed the latest request. Over a pipe
// nothing but the order tells which one is meant.
func (n *Listener) Acknowledged() {
	if n == nil {
		return
	}
	if g := n.latest.Load(); g != nil {
		g.once.Do(func() { close(g.acked) })
	}
}

// confirmed waits until the server has confirmed, bounded.
func (g *listening) confirmed() bool {
	select {
	case <-g.acked:
		return true
	case <-g.done:
	case <-g.listener.ctx.Done():
	case <-time.After(ackWait):
	}
	return false
}

// Handle refuses: a modern server asks through results.
func (g *listening) Handle(_ context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return mcp.Refuse(req), nil
}

// HandleNotification hears the stream of the subscription.
func (g *listening) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	if n.Method == mcp.NotificationListening {
		g.once.Do(func() { close(g.acked) })
		return
	}
	params := jsonrpc.Set(n.Params, nil, "_meta", mcp.MetaSubscriptionID)
	g.listener.opt.Hear(ctx, from, &jsonrpc.Notification{Method: n.Method, Params: params})
}
