// Package peer makes gateways on several machines one.
//
// Behind a balancer a request may reach any replica. Ids of sessions and handles
// of calls name the replica that they belong to, sealed; the others hand the
// request to it over the peer port, as the HTTP request that it is, and copy the
// answer. Nothing is shared but a secret, and no request waits for an agreement.
//
// Four rules hold: one replica gets a request; it runs there and is not handed
// on; who asks was decided where the request came in, and travels along; what
// was sent is sent again only if it provably did not run.
package peer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/http1"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/seal"
)

// Options make a Node.
type Options struct {
	Cluster   string // its name
	Node      string // the name of this replica
	Advertise string // where the others reach its peer port
	Ring      *seal.Ring
	// Members are addresses of all replicas; a name may stand for several.
	Members []string
	// Found are addresses of replicas that were found otherwise; nil for none.
	// It must not wait.
	Found func() []string
	// Describe is what the others are told of this replica when they ask, as
	// JSON.
	Describe func() any
	// Drain lets this replica give what it has to the others.
	Drain func()
	// Rebalance lets it give the servers to others that should be there, and
	// says which.
	Rebalance func() any
	// Holds says whether this replica has a server, named by its schema and its
	// name, in an epoch. It is nil where no server is placed.
	Holds func(server string, epoch uint64) bool
	// HandleOwner reads the owner out of a handle.
	HandleOwner func(box *seal.Box, handle string) string
	// WriteIdle bounds how long a client may take for a part of an answer.
	WriteIdle time.Duration
	Log       *slog.Logger
}

// A Node is this replica, as the others see it.
type Node struct {
	opt       Options
	self      Owner
	sessions  *seal.Box
	handles   *seal.Box
	certs     *certificates
	transport *http1.Transport
	serve     func(w http.ResponseWriter, r *http.Request)
	joined    func(*Join)
	joins     joins
	local     sessionsOf
	moved     recent[Owner]            // where sessions are that their ids do not say
	tickets   recent[ticket]           // by ids of sessions
	who       recent[access.Principal] // by what others wrote in headerPrincipal
	restoring restoring
	draining  atomic.Bool
	// Others is where the other replicas are.
	Others Directory
	// Counted is what was counted since the start.
	Counted Counter
	handed  atomic.Int64    // POSTs that others answer just now
	streams context.Context // ends with the streams that others feed
	cut     context.CancelFunc
}

// sessionsOf is the server of this replica, as far as sessions of others need
// it.
type sessionsOf interface {
	// Has says whether a session is here.
	Has(id string) bool
	// Restore begins a session anew, under its id.
	Restore(r *http.Request, id string, s mcphttp.Start) error
}

// An Owner is one run of one replica.
type Owner struct{ Node, Boot, Address string }

func (o Owner) String() string { return o.Node + " " + o.Boot + " " + o.Address }

// parseOwner reads what String wrote.
func parseOwner(s string) (Owner, bool) {
	f := strings.Split(s, " ")
	if len(f) != 3 {
		return Owner{}, false
	}
	return Owner{f[0], f[1], f[2]}, true
}

// New makes the node of this process.
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
	n.Others = Directory{opt.Members, opt.Found, opt.Advertise, n.transport}
	n.streams, n.cut = context.WithCancel(context.Background())
	n.joins.leave, n.joins.end = context.WithCancel(context.Background())
	return n, nil
}

// Owner is this run of this replica. Ids and handles call it so.
func (n *Node) Owner() Owner { return n.self }

// Close ends the connections to the others.
func (n *Node) Close() {
	n.cut()
	n.transport.CloseIdleConnections()
}

// Retire lets this replica take no session from others any more, and tells them
// so.
func (n *Node) Retire() { n.draining.Store(true) }

// Finish ends the streams that other replicas feed, and waits for the calls that
// they answer, until ctx ends.
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

// busy counts a request that is handed over, until done is called. A stream
// outside any call ends when this replica does.
func (n *Node) busy(r *http.Request) (ctx context.Context, done func()) {
	if r.Method == http.MethodPost {
		n.handed.Add(1)
		return r.Context(), func() { n.handed.Add(-1) }
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(n.streams, cancel)
	return ctx, func() { stop(); cancel() }
}
