package upstream

import (
	"maps"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/project"
)

// A Caller is the client on whose behalf a server is called, as far as the
// server is concerned. One Caller lives as long as its session; a request
// outside any session has one of its own, or shares one with those that say the
// same and are no more than one call.
type Caller struct {
	// Session is empty for a request outside any session.
	Session   string
	Principal string
	Era       mcp.Era
	Version   string
	Offer     mcp.Offer
	// Info is the raw clientInfo, nil when the client did not say.
	Info []byte
	// LogLevel is what the client wants to hear; empty means nothing.
	LogLevel string
	// Rounds says that the questions of a modern server go to Back, while the
	// call waits, although the caller is modern itself.
	Rounds bool
	// Peer says that another replica asks, for clients that the context of each
	// call names. What it asks for runs here or not at all.
	Peer bool
	// Shared says that it serves many requests outside any session.
	Shared bool
	// Outside hears what the named server says to this session outside any
	// call. It may be nil.
	Outside func(server string) jsonrpc.Handler

	project atomic.Pointer[project.Project]

	mu    sync.Mutex
	bound map[*connections]binding
}

// Again is a caller for the same client that is no session, and asks for what
// c asks for.
func (c *Caller) Again() *Caller {
	again := &Caller{Principal: c.Principal, Era: c.Era, Version: c.Version, Offer: c.Offer, Info: c.Info, LogLevel: c.LogLevel}
	again.project.Store(c.project.Load())
	return again
}

// Project is what c works on; nil where it works on no folder, or nobody knows.
func (c *Caller) Project() *project.Project { return c.project.Load() }

// Move makes the next calls of c those of a client that works on p.
func (c *Caller) Move(p *project.Project) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.project.Store(p)
	maps.DeleteFunc(c.bound, func(u *connections, _ binding) bool { return u.Config().ByProject() })
}

// Who is the principal of c.
func (c *Caller) Who() string { return c.Principal }

// Offers are what c can be asked.
func (c *Caller) Offers() *mcp.Offer { return &c.Offer }

// A binding is how one session, or one request, reaches one server. It is decided
// at the first use and changes with the project of the session alone.
type binding struct {
	own  bool   // a connection of its own
	pool string // the shared connection to use, when not the primary one
	// together says that calls of that pool share one connection; otherwise
	// each that may be asked something has one to itself while it runs.
	together bool
	exact    bool             // they offer the same
	project  *project.Project // what all clients of that pool work on; nil for other pools
	key      string           // of its slot; empty for the primary one
}

// binding returns how c reaches u, deciding it at the first use, or each time
// where the request is another one.
func (c *Caller) binding(u *connections) binding {
	if c.Shared {
		b := u.bind(c)
		b.key = slotKey(b, c)
		return b
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.bound[u]
	if !ok {
		b = u.bind(c)
		b.key = slotKey(b, c)
		if c.bound == nil {
			c.bound = make(map[*connections]binding)
		}
		c.bound[u] = b
	}
	return b
}

// rebind decides anew how c reaches u, whose shared connection has become that
// of another client.
func (c *Caller) rebind(u *connections) binding {
	c.mu.Lock()
	delete(c.bound, u)
	c.mu.Unlock()
	return c.binding(u)
}

// uses says whether c has the connection of that key as long as it lasts.
func (c *Caller) uses(u *connections, key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bound[u].key == key
}

// Close ends the connections that c has to itself. No call of c may be
// running.
func (c *Caller) Close() {
	c.mu.Lock()
	bound := c.bound
	c.bound = nil
	c.mu.Unlock()
	for u, b := range bound {
		if b.own {
			u.releaseOwn(c)
		} else if l := u.primary.current(); l != nil && l.calls.OwnedBy(c) {
			u.Restart() // what it was told of c is nobody else's business
		}
	}
}
