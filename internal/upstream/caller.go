package upstream

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/hop"
	"mcp-all-in-one/internal/upstream/project"
)

// A Caller is a client on whose behalf servers are called. A session has one Caller for its
// whole life. Requests outside any session have their own, or share one (see Shared) if
// they carry the same values.
type Caller struct {
	// Session is empty for a request outside any session.
	Session   string
	Principal string
	Era       mcp.Era
	Version   string
	Offer     mcp.Offer
	// Info is the raw clientInfo; nil if the client sent none.
	Info []byte
	// Rounds says that questions of a modern server go to Back while the call waits,
	// although the caller is modern itself.
	Rounds bool
	// Peer says that the caller is another replica. The context of each call names the
	// client behind it. The call runs on this replica or not at all.
	Peer bool
	// Shared says that many requests outside any session use this Caller.
	Shared bool
	// Outside returns the handler of messages that the named server sends to this session
	// outside any call. It may be nil.
	Outside func(server string) jsonrpc.Handler

	project  atomic.Pointer[project.Project]
	logLevel atomic.Pointer[string]

	mu     sync.Mutex
	bound  map[*connections]*bond
	closed bool

	alone atomic.Bool
}

// WithoutSession returns a Caller for the same client, with the same values but without the
// session.
func (c *Caller) WithoutSession() *Caller {
	other := &Caller{Principal: c.Principal, Era: c.Era, Version: c.Version, Offer: c.Offer, Info: c.Info}
	other.logLevel.Store(c.logLevel.Load())
	other.project.Store(c.project.Load())
	return other
}

// LogLevel returns the lowest level of log messages that the client wants; empty means no
// log messages.
func (c *Caller) LogLevel() string {
	if level := c.logLevel.Load(); level != nil {
		return *level
	}
	return ""
}

// SetLogLevel sets the level for the next calls of c.
func (c *Caller) SetLogLevel(level string) { c.logLevel.Store(&level) }

// Project returns the project that c works on; nil if it works on no folder, or the project
// is unknown.
func (c *Caller) Project() *project.Project { return c.project.Load() }

// Move sets the project of the next calls of c to p.
func (c *Caller) Move(p *project.Project) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.project.Store(p)
	maps.DeleteFunc(c.bound, func(u *connections, _ *bond) bool { return c.Session == "" || u.Config().ByProject() })
}

// Alone reports whether a server has run a process for c alone, or for its project.
func (c *Caller) Alone() bool { return c.alone.Load() }

// who returns the principal of a call. The Caller of another replica makes the calls of all
// its clients.
func (c *Caller) who(ctx context.Context) string {
	if c.Peer {
		return hop.Principal(ctx)
	}
	return c.Principal
}

// Offers returns what the client of c offers.
func (c *Caller) Offers() *mcp.Offer { return &c.Offer }

// A binding says how one session, or one request, reaches one server. It is decided for good
// when the first request is sent. Only a change of the session's project changes it.
type binding struct {
	own  bool   // a connection of its own
	pool string // the shared connection to use, when not the primary one
	// together says that the calls of the pool share one connection. Otherwise each call in
	// which the server may ask something has a connection to itself while it runs.
	together bool
	exact    bool             // all clients of the pool offer the same
	project  *project.Project // the project of all clients of the pool; nil for other pools
	key      string           // the key of the slot; empty for the primary one
}

// A bond is the binding of one caller to one server.
type bond struct {
	binding
	kept bool // a request was sent, so the binding stays
}

// binding returns how c reaches u. A shared Caller decides it each time, because its
// requests may differ.
func (c *Caller) binding(u *connections) binding {
	if c.Shared {
		b := u.bind(c)
		b.key = slotKey(b, c)
		return b
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bindingLocked(u)
}

// keep fixes the binding of c, before the first request is sent. It returns false if the
// binding is no longer b.
func (c *Caller) keep(u *connections, b binding) bool {
	if c.Shared {
		return c.binding(u) == b
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	bond := c.bound[u]
	if bond != nil && bond.kept {
		return true
	}
	if c.bindingLocked(u) != b {
		return false
	}
	c.bound[u].kept = true
	if b.alone(u) {
		c.alone.Store(true)
	}
	return true
}

func (c *Caller) bindingLocked(u *connections) binding {
	if bond := c.bound[u]; bond != nil && bond.kept {
		return bond.binding
	}
	b := u.bind(c)
	b.key = slotKey(b, c)
	if c.bound == nil {
		c.bound = make(map[*connections]*bond)
	}
	c.bound[u] = &bond{binding: b}
	return b
}

// rebind decides again, after the shared connection of u was given to another client.
func (c *Caller) rebind(u *connections) binding {
	c.mu.Lock()
	delete(c.bound, u)
	c.mu.Unlock()
	return c.binding(u)
}

// uses reports whether c is bound to the connection with the given key.
func (c *Caller) uses(u *connections, key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	bond := c.bound[u]
	return bond != nil && bond.key == key
}

// ended reports whether Close was called.
func (c *Caller) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Close ends the connections that c has to itself. A request that is still running gets
// no new one.
func (c *Caller) Close() {
	c.mu.Lock()
	bound := c.bound
	c.bound, c.closed = nil, true
	c.mu.Unlock()
	for u, b := range bound {
		if b.own {
			u.releaseOwn(c)
		} else if l := u.primary.current(); l != nil && l.calls.OwnedBy(c) {
			u.Restart() // the server knows the roots of c, which no other client may inherit
		}
	}
}
