package upstream

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
)

// A listener keeps the one subscriptions/listen request of a modern server
// open. When the wanted resources change it opens a new one, waits until it is
// acknowledged, and lets the old one go, so that nothing is missed between.
type listener struct {
	link   *link
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

// A listening is one open subscriptions/listen request.
type listening struct {
	listener *listener
	cancel   context.CancelFunc
	acked    chan struct{}
	once     sync.Once
	done     chan struct{}
	err      error // read after done
}

// startListening opens the subscription of a modern server.
func (l *link) startListening() {
	if l.era != mcp.Modern {
		return
	}
	ctx, cancel := context.WithCancel(l.up.life)
	n := &listener{link: l, ctx: ctx, cancel: cancel, dirty: make(chan struct{}), moved: make(chan struct{})}
	l.listen = n
	n.wg.Go(n.run)
}

// again asks for a new request with what is wanted now.
func (n *listener) again() {
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
func (n *listener) changed(covered int) <-chan struct{} {
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

// settle waits until the server has confirmed all that was asked for: what
// happens from then on is heard. A server that does not confirm is waited for
// as long as one request is.
func (n *listener) settle(ctx context.Context) {
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
		case <-n.link.done:
			return
		}
	}
}

// asking is how much was asked for before the next request.
func (n *listener) asking() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// confirm notes that so much was told to the server.
func (n *listener) confirm(asked int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told = asked
	close(n.moved)
	n.moved = make(chan struct{})
}

func (n *listener) stop() {
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

func (n *listener) run() {
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
		case <-n.link.done:
			cur.cancel()
			return
		case <-n.changed(asked):
		case <-cur.done:
			if httpclient.NotSent(cur.err) {
				n.link.finish(cur.err) // there is nobody: connect anew
				return
			}
			n.link.refresh.mark(kindAll) // what changed meanwhile was not heard
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

func (n *listener) start() *listening {
	ctx, cancel := context.WithCancel(n.ctx)
	g := &listening{listener: n, cancel: cancel, acked: make(chan struct{}), done: make(chan struct{})}
	params := []byte(`{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`)
	params = withIDs(params, "resourceSubscriptions", n.link.slot.subs.ids())
	tasks := n.link.slot.tasks.ids()
	params = withIDs(params, "taskIds", tasks)
	offer := n.link.offer
	if len(tasks) > 0 {
		offer.Extensions = []byte(`{"` + mcp.TasksExtension + `":{}}`)
	}
	params = n.link.withMeta(params, &Caller{Offer: offer, Era: mcp.Modern})
	n.latest.Store(g)
	n.wg.Go(func() {
		defer close(g.done)
		resp, err := n.link.peer.Call(ctx, &jsonrpc.Request{Method: mcp.MethodListen, Params: params, Back: g})
		g.err = err
		if err == nil && resp.Err != nil {
			n.link.up.log.Debug("subscription refused", "err", resp.Err)
		}
	})
	return g
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

// acknowledged notes that the server confirmed the latest request. Over a pipe
// nothing but the order tells which one is meant.
func (n *listener) acknowledged() {
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
	return refuse(req), nil
}

// HandleNotification hears the stream of the subscription.
func (g *listening) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	if n.Method == mcp.NotificationListening {
		g.once.Do(func() { close(g.acked) })
		return
	}
	params := jsonrpc.Set(n.Params, nil, "_meta", mcp.MetaSubscriptionID)
	g.listener.link.HandleNotification(ctx, from, &jsonrpc.Notification{Method: n.Method, Params: params})
}
