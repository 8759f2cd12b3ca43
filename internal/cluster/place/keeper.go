// Package place decides where servers run that run once in a cluster.
//
// A record in the engine says which run of which replica has a server; the
// revision of the record is the epoch. The replica that the server's name leads
// to writes it, and nothing moves while its owner lives and does not drain.
// Everybody else follows the records. No call waits for the engine: what was
// known stays known while it is away.
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
	// bucket holds the records. They outlive the engine, and so do epochs.
	bucket = "place"
	// look is how often it is looked for what no event tells.
	look = 250 * time.Millisecond
	// settle is how long a replica that has found the others waits for more of
	// them before it takes what nobody has.
	settle = time.Second
	// absent is how long a replica whose end nobody saw may be missing: after
	// the engine was away, all write their records anew.
	absent = 6 * time.Second
	// turn is how much later the next one takes a server that the one before it
	// does not take.
	turn = 3 * time.Second
	// margin is how long before the others may take a fenced server its copy is
	// stopped.
	margin = 3 * time.Second
	// doubt is how long an owner that says it does not have a server is not
	// asked again.
	doubt = 200 * time.Millisecond
	// patience bounds one use of the engine.
	patience = 2 * time.Second
)

// A Server is one that runs once in the cluster.
type Server struct {
	On    map[string]string // the labels that a replica must have
	Fence bool              // it is stopped where the others cannot be reached
}

// Options make a Keeper.
type Options struct {
	Members *cluster.Members
	// Self is this replica, as it is now.
	Self func() cluster.Member
	Box  *seal.Box
	Log  *slog.Logger
}

// A Keeper knows where servers run, and takes those that this replica should
// run.
type Keeper struct {
	opt  Options
	ctx  context.Context
	stop context.CancelFunc
	done chan struct{}
	wake chan struct{} // holds one when there is something to look at

	// Of run alone.
	watch   uint64 // the number of the watch of the members that ours goes with
	unwatch context.CancelFunc

	mu      sync.Mutex
	known   bool // what is present was shown
	wanted  bool // it was said which servers run once
	records map[string]record
	servers map[string]*server
	gone    chan struct{} // closed and replaced when a copy of a server ended
	leaving bool          // all servers are given away, and none is taken
}

// A server is what this replica wants and knows of one.
type server struct {
	Server
	spot     Spot
	change   chan struct{}
	running  int       // copies here
	vacant   time.Time // since when it has no owner; zero while it has one
	doubted  uint64    // the epoch whose owner says that it does not have it
	doubtEnd time.Time
	moving   uint64 // the epoch in which it is given away, though nothing ends
	fenced   uint64 // the epoch in which its copy here was stopped, to be safe
}

// Open follows the records until Close. It returns at once.
func Open(ctx context.Context, opt Options) *Keeper {
	k := &Keeper{
		opt: opt, done: make(chan struct{}), wake: make(chan struct{}, 1), gone: make(chan struct{}),
		records: map[string]record{}, servers: map[string]*server{},
	}
	k.ctx, k.stop = context.WithCancel(ctx)
	go k.run()
	return k
}

// Close ends it. What runs here goes on.
func (k *Keeper) Close() {
	k.stop()
	<-k.done
}

// Want says which servers run once, by name. A server that is not among them is
// not this replica's any more.
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

// Wake lets it look at what has changed.
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

// Leave gives all servers away, and takes none any more. It returns when
// nothing is here, or ctx ends.
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

// owned counts the servers that a run of a replica has.
func owned(servers map[string]*server, records map[string]record, boot string) (n int) {
	for name := range servers {
		if records[name].Boot == boot {
			n++
		}
	}
	return n
}
