// Package peer lets gateways on several machines act as one.
//
// Behind a load balancer a request may reach any replica. Session ids and call
// handles contain the replica that they belong to, sealed. The other replicas
// forward the request to it over the peer port, as an HTTP request, and copy the
// response. The replicas share nothing but a secret, and no request waits for a
// consensus.
//
// Four rules hold. A request goes to one replica. It runs there and is not
// forwarded again. The replica that received it from the client authenticates the
// principal and sends it along. A request is sent again only if it provably did not
// run.
package peer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/http1"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/rate"
	"mcp-all-in-one/internal/seal"
)

// Options configure a Node.
type Options struct {
	Cluster   string // name of the cluster
	Node      string // name of this replica
	Advertise string // address of its peer port for the other replicas, or CarriedAddress
	Ring      *seal.Ring
	// Members are the addresses of all replicas; a name may resolve to several.
	Members []string
	// Found returns addresses of replicas that were discovered otherwise; nil for
	// none. It must not block.
	Found func() []string
	// Carry connects to a replica, given by its name, through the engine. It is nil
	// without an engine.
	Carry func(ctx context.Context, node string) (net.Conn, error)
	// Describe returns the description of this replica for the others, as JSON.
	Describe func() any
	// Drain makes this replica hand its sessions and servers to the others, if they
	// can take them.
	Drain func() error
	// Rebalance makes this replica hand over the servers that belong on other
	// replicas. It returns which ones, as JSON.
	Rebalance func() any
	// Holds reports whether this replica has a server, given as schema/name, in an
	// epoch. It is nil if servers are not placed.
	Holds func(server string, epoch uint64) bool
	// Ended waits until it is known whether a run of a replica that cannot be found
	// has ended, for a few seconds at most. It is nil without an engine.
	Ended func(context.Context, Owner) bool
	// Spent counts calls that another replica admitted.
	Spent func([]rate.Spent)
	// Kept returns a result that this replica has kept.
	Kept func(ctx context.Context, owner kept.Owner, uri string) (kept.Result, error)
	// Stranger is told of connections to the peer port that no replica opened.
	Stranger func(from net.Addr)
	// Held takes how many sessions each principal has at another replica.
	Held func(rate.Held)
	// HandleOwner returns the owner in a handle.
	HandleOwner func(box *seal.Box, handle string) string
	// WriteIdle bounds how long a client may take to read a part of a response.
	WriteIdle time.Duration
	Log       *slog.Logger
}

// A Node is this replica as a member of the cluster.
type Node struct {
	opt       Options
	self      Owner
	sessions  *seal.Box
	handles   *seal.Box
	certs     *certificates
	transport *http1.Transport
	shared    *streams // streams outside any call
	serve     func(w http.ResponseWriter, r *http.Request)
	joined    func(*Join)
	joins     joins
	local     sessionsOf
	moved     recent[Owner]            // owners of sessions that have moved, by session id
	tickets   recent[ticket]           // by ids of sessions
	who       recent[access.Principal] // by value of headerPrincipal
	restoring restoring
	draining  atomic.Bool
	// Others is the directory of the other replicas.
	Others Directory
	// Wanted has what the replicas keep of each other's sessions.
	Wanted Wanted
	// Counted holds the counters since the start.
	Counted Counter
	handed  atomic.Int64    // requests that other replicas are answering
	streams context.Context // ends the streams that come from other replicas
	cut     context.CancelFunc
}

// sessionsOf is the part of mcphttp.Server that is needed to restore sessions.
type sessionsOf interface {
	// Has reports whether a session is here.
	Has(id string) bool
	// Restore begins a session again, with the same id.
	Restore(r *http.Request, id string, s mcphttp.Start) error
}

// An Owner is one run of one replica.
type Owner struct{ Node, Boot, Address string }

func (o Owner) String() string { return o.Node + " " + o.Boot + " " + o.Address }

// parseOwner parses the result of String.
func parseOwner(s string) (Owner, bool) {
	f := strings.Split(s, " ")
	if len(f) != 3 {
		return Owner{}, false
	}
	return Owner{f[0], f[1], f[2]}, true
}

// New returns the node of this process.
func New(opt Options) (*Node, error) {
	boot := make([]byte, 8)
	rand.Read(boot)
	n := &Node{
		opt: opt, self: Owner{opt.Node, hex.EncodeToString(boot), opt.Advertise},
		sessions: opt.Ring.Box(seal.Session), handles: opt.Ring.Box(seal.Handle),
	}
	var err error
	if n.certs, err = newCertificates(opt.Ring, opt.Cluster, opt.Node); err != nil {
		return nil, err
	}
	n.transport = n.newTransport()
	n.shared = newStreams(n.transport, http.HandlerFunc(n.handle), opt.Log)
	n.Others = Directory{opt.Members, opt.Found, opt.Node, opt.Advertise, n.transport, n.shared, opt.Log}
	n.Wanted.others, n.Wanted.ticket = &n.Others, func(id string) (ticket, bool) { return readTicket(n.sessions, id) }
	n.Wanted.ctx, n.Wanted.end = context.WithCancel(context.Background())
	n.Wanted.hearers = make(map[string]*hearer)
	n.streams, n.cut = context.WithCancel(context.Background())
	n.joins.leave, n.joins.end = context.WithCancel(context.Background())
	return n, nil
}

// Owner returns this run of this replica, as in ids and handles.
func (n *Node) Owner() Owner { return n.self }

// Close closes the connections to the other replicas.
func (n *Node) Close() {
	n.Wanted.close()
	n.cut()
	n.shared.end()
	n.transport.CloseIdleConnections()
}

// Retire makes this replica refuse sessions of others, and tell them so.
func (n *Node) Retire() { n.draining.Store(true) }

// Finish ends the streams that come from other replicas, and waits for them and for
// the calls that those are answering, until ctx ends.
func (n *Node) Finish(ctx context.Context) {
	n.cut()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for n.handed.Load() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// A handing is a request that another replica is answering.
type handing struct {
	ctx    context.Context
	cancel func()
	detach func() bool // makes a stream outlive the request of its client
	end    func()
	kept   bool // a goroutine calls end
}

// done ends a request, unless it goes on in a goroutine.
func (h *handing) done() {
	if !h.kept {
		h.end()
	}
}

// busy counts a forwarded request until it ends. A stream outside any call ends
// when this replica stops.
func (n *Node) busy(r *http.Request) handing {
	n.handed.Add(1)
	if r.Method == http.MethodPost {
		return handing{ctx: r.Context(), end: func() { n.handed.Add(-1) }}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	detach, stop := context.AfterFunc(r.Context(), cancel), context.AfterFunc(n.streams, cancel)
	return handing{ctx: ctx, cancel: cancel, detach: detach, end: func() {
		detach()
		stop()
		cancel()
		n.handed.Add(-1)
	}}
}
