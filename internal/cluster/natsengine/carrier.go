package natsengine

import (
	"context"
	"crypto/rand"
	"net"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"mcp-all-in-one/internal/i18n"
)

const (
	// backlog is how many connections wait for Accept.
	backlog = 64
	// maxCarried is how many connections other replicas may have opened. NATS
	// does not know who is a replica, so anyone with access to it can open one.
	maxCarried = 1024
)

// A Carrier makes connections that NATS carries, between replicas of which one
// cannot be reached directly. It has a connection to NATS of its own, so that
// large messages do not delay the engine.
//
// Both ends of a carried connection listen to a subject with a random name. A
// replica listens to a subject with its node's name for new connections. NATS
// answers a message for which there is no listener, so a replica learns at
// once that the other one has closed the connection or has ended.
type Carrier struct {
	name string // of the cluster
	conn *nats.Conn

	mu    sync.Mutex
	conns map[*carried]struct{}
}

// OpenCarrier connects to NATS like Open.
func OpenCarrier(opt Options) (*Carrier, error) {
	c := &Carrier{name: opt.Cluster, conns: map[*carried]struct{}{}}
	var err error
	c.conn, err = connect(opt, nats.DisconnectErrHandler(func(*nats.Conn, error) { c.cut() }))
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Close breaks all connections.
func (c *Carrier) Close() {
	c.cut()
	c.conn.Close()
}

// cut breaks all connections: what was under way may be lost.
func (c *Carrier) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for one := range c.conns {
		one.fail(errNATSLost)
	}
}

func (c *Carrier) nodeSubject(node string) string {
	return subject(c.name, "carry.to."+encode(node))
}

// endPrefix is the prefix of the subjects of ends of connections.
func (c *Carrier) endPrefix() string { return subject(c.name, "carry.end.") }

// isEnd reports whether a subject is one of an end of a connection. Whatever
// else a message names as its origin is not written to.
func (c *Carrier) isEnd(subject string) bool {
	id, ok := strings.CutPrefix(subject, c.endPrefix())
	return ok && len(id) == len(rand.Text()) && !strings.ContainsAny(id, ".*> \t\r\n")
}

// open returns one end of a connection, which hears the other end.
func (c *Carrier) open() (*carried, error) {
	one := newCarried(c, c.endPrefix()+rand.Text())
	sub, err := c.conn.Subscribe(one.own, one.hear)
	if err != nil {
		return nil, i18n.Errorf("listening at NATS: %w", "监听 NATS 失败：%w", err)
	}
	if err := sub.SetPendingLimits(pendingFrames, 4*window); err != nil {
		sub.Unsubscribe() // only a closed connection fails
		return nil, err
	}
	one.sub = sub
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns[one] = struct{}{}
	return one, nil
}

// largest returns the most data in a frame.
func (c *Carrier) largest() uint64 {
	if most := c.conn.MaxPayload() - frameHead; most > 0 && most < maxData {
		return uint64(most)
	}
	return maxData
}

func (c *Carrier) forget(one *carried) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, one)
}

func (c *Carrier) full() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.conns) >= maxCarried
}

// Dial connects to the replica with a name.
func (c *Carrier) Dial(ctx context.Context, node string) (net.Conn, error) {
	one, err := c.open()
	if err == nil {
		err = one.dial(ctx, c.nodeSubject(node))
	}
	if err == nil {
		return one, nil
	}
	if one != nil {
		one.Close()
	}
	if err == errReset {
		// The replica may connect again. As after a name that does not resolve, the
		// caller looks at the replica's record to find out whether it has ended.
		return nil, i18n.Errorf("%s is not connected to NATS: %w", "%s 未连接到 NATS：%w", node, &net.DNSError{Err: "no replica listens", Name: node, IsNotFound: true})
	}
	return nil, i18n.Errorf("connecting to %s through NATS: %w", "经由 NATS 连接 %s 失败：%w", node, err)
}

// Listen accepts connections of other replicas under the name of this one.
func (c *Carrier) Listen(node string) (net.Listener, error) {
	l := &carriedListener{carrier: c, arrived: make(chan net.Conn, backlog), over: make(chan struct{})}
	var err error
	if l.sub, err = c.conn.Subscribe(c.nodeSubject(node), l.hear); err == nil {
		err = l.sub.SetPendingLimits(pendingFrames, window)
	}
	if err != nil {
		return nil, i18n.Errorf("listening at NATS: %w", "监听 NATS 失败：%w", err)
	}
	return l, nil
}

// A carriedListener accepts carried connections.
type carriedListener struct {
	carrier *Carrier
	sub     *nats.Subscription
	arrived chan net.Conn
	once    sync.Once
	over    chan struct{} // closed by Close
}

// hear accepts a connection. One that cannot be accepted is not answered.
func (l *carriedListener) hear(m *nats.Msg) {
	kind, most, _, ok := parseFrame(m.Data)
	if !ok || kind != frameOpen || !l.carrier.isEnd(m.Reply) || l.carrier.full() {
		return
	}
	one, err := l.carrier.open()
	if err != nil {
		return
	}
	one.begin(m.Reply, most)
	one.send(frameAccept, window, nil)
	select {
	case l.arrived <- one:
	default:
		one.Close()
	}
}

// Accept returns the next connection.
func (l *carriedListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.arrived:
		return conn, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

// Close refuses further connections, and those that were not accepted.
func (l *carriedListener) Close() error {
	l.once.Do(func() {
		l.sub.Unsubscribe() // a closed connection has no subscription
		close(l.over)
		for len(l.arrived) > 0 {
			(<-l.arrived).Close()
		}
	})
	return nil
}

// Addr returns the subject of the listener.
func (l *carriedListener) Addr() net.Addr { return carriedAddr(l.sub.Subject) }

// A carriedAddr is a subject of NATS.
type carriedAddr string

// Network returns "nats".
func (carriedAddr) Network() string  { return "nats" }
func (a carriedAddr) String() string { return string(a) }
