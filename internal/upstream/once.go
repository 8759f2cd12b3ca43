package upstream

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/hop"
	"mcp-all-in-one/internal/upstream/memory"
	"mcp-all-in-one/internal/upstream/watch"
)

// A Placer decides on which replica of a cluster a server runs, if the cluster
// runs one process of it. A server is named schema/name.
type Placer interface {
	// Where returns the place of a server.
	Where(server string) Spot
	// Begin registers a process that is about to be started on this replica. It returns
	// false if the server does not belong to this replica any more. End is called when the
	// process has ended.
	Begin(server string, epoch uint64) bool
	End(server string)
	// Doubt records that the replica that should run the server in an epoch says that it
	// does not.
	Doubt(server string, epoch uint64)
}

// A Spot is the place of a server: this replica, another replica, to which Dial connects,
// or neither (Here is false and Dial is nil) if no replica has it yet.
type Spot struct {
	Here bool
	Node string // the name of the other replica
	// Dial opens a connection to the server. If it fails, nothing was sent.
	Dial  func(ctx context.Context) (io.ReadWriteCloser, error)
	Epoch uint64
	// Hurry says that the process on this replica must end at once.
	Hurry bool
	// Change is closed when the place changes.
	Change <-chan struct{}
}

// Nowhere reports whether no replica has the server yet.
func (s Spot) Nowhere() bool { return !s.Here && s.Dial == nil }

// fencingToken is the environment variable that holds the server's epoch. The storage that
// the server writes to can refuse writes with an older epoch.
const fencingToken = "MCP_FENCING_TOKEN"

const (
	// onceWait is how long a call waits while the server moves to another replica.
	onceWait = 30 * time.Second
	// onceRetry is the pause before a replica that refused the connection is tried again.
	onceRetry = 100 * time.Millisecond
	// lostWait is how long calls may continue in a process that another replica has
	// replaced.
	lostWait = 2 * time.Second
	// onceTries is how often a call that did not run is sent again.
	onceTries = 5
)

var (
	errMoved   = i18n.Errorf("the server moves to another replica", "服务器正在迁移到另一个副本")
	errNowhere = i18n.Errorf("no replica runs the server: no eligible replica is up, or the cluster engine is unreachable", "没有副本运行该服务器：没有可运行它的副本在线，或无法连接集群引擎")
)

// once adds the handling of a server that runs once in a cluster.
type once struct{ *connections }

// on reports whether the server runs once in the cluster.
func (o once) on() bool { return o.opt.Placer != nil && o.Config().Once() }

// tries returns how often a call that provably did not run is sent again.
func (o once) tries() int {
	if o.on() {
		return onceTries
	}
	return 1
}

func (o once) wait() time.Duration {
	if o.on() {
		return onceWait
	}
	return restartPause
}

// there reports whether the connection leads to another replica.
func (l *link) there() bool { return l.spot != nil && !l.spot.Here }

// eras returns the eras that the server is known to speak. A connection to another replica
// speaks both.
func (o once) eras() memory.Eras {
	if l := o.primary.link.Load(); l != nil && l.there() {
		return memory.Both
	}
	return o.opt.Memory.Eras(o.hash)
}

// learn remembers the eras of a server, if the primary connection does not lead to another
// replica.
func (o once) learn(e memory.Eras) {
	if l := o.primary.link.Load(); l != nil && l.there() {
		return
	}
	o.opt.Memory.SetEras(o.hash, e)
}

// connectOnce opens a connection to a server that runs once in the cluster, on whichever
// replica it is. While the server moves, connectOnce waits.
func (d dialer) connectOnce(ctx context.Context) (*link, error) {
	bound, cancel := context.WithTimeoutCause(ctx, onceWait, errNowhere)
	defer cancel()
	for {
		spot, err := once{d.up}.await(bound)
		if err != nil {
			return nil, err
		}
		d.spec.spot = &spot
		var l *link
		if spot.Here {
			l, err = d.startHere(ctx)
		} else {
			l, err = d.join(ctx)
		}
		if err == nil {
			d.up.background.Go(func() { accompany(l, d.up.opt.Placer) })
			return l, nil
		}
		if !errors.Is(err, errMoved) && !failure.IsRefusal(err) {
			return nil, err
		}
		select {
		case <-spot.Change:
		case <-time.After(onceRetry):
		case <-bound.Done():
			return nil, err
		}
	}
}

// join connects to the replica that has the server. It gives up when the server moves: that
// replica may hang and never answer.
func (d dialer) join(ctx context.Context) (*link, error) {
	there, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	joined := make(chan struct{})
	var watch sync.WaitGroup
	defer watch.Wait()
	defer close(joined)
	watch.Go(func() {
		select {
		case <-d.spec.spot.Change:
			leave(errMoved)
		case <-joined:
		}
	})
	// Another replica speaks both eras, whatever the server speaks. There is nothing to
	// probe, and a result must not be remembered, since all replicas would trust it.
	d.spec.probe = false
	l, err := d.connectThere(there)
	if wire := new(jsonrpc.Error); errors.As(err, &wire) && mcp.ReasonOf(wire) == mcp.Draining || err != nil && errors.Is(context.Cause(there), errMoved) {
		return nil, errMoved
	}
	return l, err
}

// connectThere opens a connection to a server on another replica. The connection is like a
// pipe to the server itself, but its messages say which call they belong to.
func (d dialer) connectThere(ctx context.Context) (*link, error) {
	conn, err := d.spec.spot.Dial(ctx)
	if err != nil {
		return nil, &failure.Lost{Err: err}
	}
	l := d.newLink()
	l.grace = d.up.limits.Drain // the other replica decides how long
	opt := d.connOptions(l)
	opt.Handler = there{l}
	opt.Tags = hop.Asking()
	stream := watch.New(hop.Stream(conn, d.up.limits.ServerMessage))
	rpc := duplex.NewConn(stream, opt)
	l.peer = rpc
	l.closer = func(context.Context) { rpc.Close() }
	l.watch(rpc, stream)
	if err := d.handshake(ctx, l); err != nil {
		l.close(ctx)
		return nil, leftBy(l, err)
	}
	return l, nil
}

// leftBy returns the error for a connection that cannot be used. If a connection to another
// replica broke, the server has not crashed: it moves, or its replica shuts down.
func leftBy(l *link, err error) error {
	if !l.there() || errors.As(err, new(*jsonrpc.Error)) || errors.Is(err, failure.ErrSlow) {
		return err
	}
	return errMoved
}

// there handles the messages of a replica that runs the server.
type there struct{ *link }

func (t there) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	if n.Method == hop.Leaving {
		t.finish(errMoved)
		return
	}
	t.link.HandleNotification(ctx, from, n)
}

// await waits until some replica has the server.
func (o once) await(ctx context.Context) (Spot, error) {
	for {
		spot := o.opt.Placer.Where(o.Config().ID())
		if !spot.Nowhere() {
			return spot, nil
		}
		select {
		case <-spot.Change:
		case <-ctx.Done():
			return spot, context.Cause(ctx)
		}
	}
}

// startHere starts the server on this replica, if it still belongs here.
func (d dialer) startHere(ctx context.Context) (*link, error) {
	id, placer := d.up.Config().ID(), d.up.opt.Placer
	if !placer.Begin(id, d.spec.spot.Epoch) {
		return nil, errMoved
	}
	l, err := d.connectStdio(ctx)
	if err != nil {
		placer.End(id)
		return nil, err
	}
	end, closer := sync.OnceFunc(func() { placer.End(id) }), l.closer
	l.closer = func(ctx context.Context) {
		closer(ctx)
		end()
	}
	return l, nil
}

// accompany ends the connection when the server moves. Calls in flight may finish.
func accompany(l *link, p Placer) {
	for change := l.spot.Change; ; {
		select {
		case <-change:
		case <-l.done:
			return
		case <-l.up.life.Done():
			return
		}
		now := p.Where(l.up.Config().ID())
		if now.Here == l.spot.Here && now.Node == l.spot.Node && now.Epoch == l.spot.Epoch {
			change = now.Change
			continue
		}
		switch {
		case !l.spot.Here:
		case now.Hurry:
			l.child.Kill()
		case now.Dial != nil:
			l.grace = lostWait
		default:
			l.grace = l.up.limits.Drain
		}
		l.finish(errMoved)
		return
	}
}

// idleCheck is how often letFinish checks for calls in flight.
const idleCheck = 20 * time.Millisecond

// letFinish waits for the calls in flight on a connection that ends because its server
// moved or because the values of its user changed.
func letFinish(ctx context.Context, l *link) {
	if l.alive() || !errors.Is(l.err, errMoved) && !errors.Is(l.err, errOtherValues) || l.grace == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, l.grace)
	defer cancel()
	tick := time.NewTicker(idleCheck)
	defer tick.Stop()
	for l.calls.Busy() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// hasLeft reports whether another replica refused to run a call because the server is
// leaving it.
func hasLeft(l *link, resp *jsonrpc.Response) bool {
	if !mcp.IsDraining(resp) {
		return false
	}
	l.up.opt.Placer.Doubt(l.up.Config().ID(), l.spot.Epoch)
	return true
}

// shift drops the connection to the previous place of the server.
func (o once) shift(l *link) {
	o.primary.link.Store(nil)
	o.setState(Restarting, errMoved)
	o.log.Info("server moves")
	o.bury(l)
}

// Spot returns the place of a server that runs once in the cluster; false for other
// servers.
func (u *connections) Spot() (Spot, bool) {
	if !(once{u}).on() {
		return Spot{}, false
	}
	return u.opt.Placer.Where(u.Config().ID()), true
}

// withClient stores the client of a call in the context. If the caller is another replica,
// the context already has the client.
func withClient(ctx context.Context, c *Caller) context.Context {
	if c.Peer {
		return ctx
	}
	return hop.WithClient(ctx, c.Principal, c.Session)
}
