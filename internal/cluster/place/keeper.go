// Package place decides which replica runs a server that runs once in a cluster.
//
// A record in the engine names the owner of a server: a replica and one run of
// it. The revision of the record is the epoch. The replica that ranks first for
// the server's name writes the record. A server does not move while its owner
// is alive and does not drain. All other replicas follow the records. No call
// waits for the engine: the last known records stay in use while it is away.
package place

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/seal"
)

const (
	// bucket has the records. They must survive the engine, and so must epochs.
	bucket = cluster.Places
	// look is the interval for checks that no event triggers.
	look = 250 * time.Millisecond
	// settle is how long a replica that has found the others waits for more of
	// them before it takes servers without an owner.
	settle = time.Second
	// absent is how long a replica may be missing without an observed end:
	// after the engine was away, all replicas write their records again.
	absent = 6 * time.Second
	// turn is how much later the next replica takes a server that the one
	// ranked before it does not take.
	turn = 3 * time.Second
	// margin: the copy of a fenced server is stopped this long before other
	// replicas may take the server.
	margin = 3 * time.Second
	// doubt is how long an owner that denies having a server is not asked
	// again.
	doubt = 200 * time.Millisecond
	// patience limits one use of the engine.
	patience = 2 * time.Second
)

// A Server is a server that runs once in the cluster.
type Server struct {
	On    map[string]string // labels that a replica must have
	Fence bool              // stop it while the others cannot be reached
}

// Options are the options of Open.
type Options struct {
	Members *cluster.Members
	// Self returns the current description of this replica.
	Self func() cluster.Member
	Box  *seal.Box
	Log  *slog.Logger
}

// A Keeper knows where servers run, and takes the servers that this replica
// should run.
type Keeper struct {
	opt  Options
	ctx  context.Context
	stop context.CancelFunc
	done chan struct{}
	wake chan struct{} // has one element if there is something to check

	// Used only by run.
	watch   uint64 // number of the members' watch for which our watch was started
	unwatch context.CancelFunc

	mu      sync.Mutex
	known   bool // the watch has shown all present records
	wanted  bool // Want was called
	records map[string]record
	reseal  []string // servers without an owner whose records must be sealed again
	servers map[string]*server
	gone    chan struct{} // closed and replaced after each written record
	leaving bool          // all servers are given away, and none is taken
}

// A server is the local state of one server.
type server struct {
	Server
	spot     Spot
	change   chan struct{}
	running  int       // number of copies here
	vacant   time.Time // since when it has no owner; zero if it has one
	doubted  uint64    // epoch whose owner denies having the server
	doubtEnd time.Time
	moving   uint64 // epoch in which Rebalance moves it
	// written is the epoch that this replica began. A fenced server runs in no
	// other one, and not in one in which this replica was cut off.
	written uint64
}

// Open follows the records until Close. It does not block.
func Open(ctx context.Context, opt Options) *Keeper {
	k := &Keeper{
		opt: opt, done: make(chan struct{}), wake: make(chan struct{}, 1), gone: make(chan struct{}),
		records: map[string]record{}, servers: map[string]*server{},
	}
	k.ctx, k.stop = context.WithCancel(ctx)
	go k.run()
	return k
}

// Close stops following the records. Servers that run here continue.
func (k *Keeper) Close() {
	k.stop()
	<-k.done
}

// Want sets which servers run once, by name. This replica releases servers that
// are not listed.
func (k *Keeper) Want(servers map[string]Server) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, one := range servers {
		if s := k.servers[name]; s != nil {
			s.Server = one
			continue
		}
		k.servers[name] = &server{Server: one, change: make(chan struct{})}
	}
	for name, s := range k.servers {
		if _, wanted := servers[name]; !wanted {
			close(s.change)
			delete(k.servers, name)
		}
	}
	k.wanted = true
	k.judgeLocked()
	k.Wake()
}

// Wake makes the Keeper check for changes.
func (k *Keeper) Wake() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

func (k *Keeper) run() {
	defer close(k.done)
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		changes := k.opt.Members.Changes()
		k.follow()
		k.mu.Lock()
		k.judgeLocked()
		todo := k.todoLocked()
		k.mu.Unlock()
		for _, w := range todo {
			k.write(w)
		}
		select {
		case <-tick.C:
		case <-k.wake:
		case <-changes:
		case <-k.ctx.Done():
			return
		}
	}
}

// Leave gives all servers away and takes no more. It returns when this replica
// owns none, or when ctx ends.
func (k *Keeper) Leave(ctx context.Context) {
	k.mu.Lock()
	k.leaving = true
	k.judgeLocked()
	k.mu.Unlock()
	k.Wake()
	for {
		k.mu.Lock()
		gone, left := k.gone, owned(k.servers, k.records, k.opt.Self().Boot)
		k.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-gone:
		case <-ctx.Done():
			return
		}
	}
}

// owned counts the servers that a run of a replica owns.
func owned(servers map[string]*server, records map[string]record, boot string) (n int) {
	for name := range servers {
		if records[name].Boot == boot {
			n++
		}
	}
	return n
}
