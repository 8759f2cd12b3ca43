package upstream

import (
	"context"
	"time"

	"mcp-all-in-one/internal/mcp"
)

// bind decides how a client reaches this server.
//
// One connection serves everybody until the server asks a question that
// nobody, or more than one client, could have caused. From then on clients
// that can be asked get a connection of their own, with exactly what they
// offer; the others share one that offers nothing. Servers that never ask
// never cost a second process.
func (u *Upstream) bind(c *Caller) binding {
	if u.opt.Greeting != nil {
		return binding{}
	}
	user := u.userOf(c)
	apart := u.server().Share == "session" || u.server().Share == "auto" && u.opt.Memory.asks(u.hash)
	switch {
	case !apart && user != "":
		return binding{pool: "user\x00" + user, together: true}
	case !apart:
		return binding{}
	case c.Session != "" && (u.server().Share == "session" || !c.Offer.Empty()):
		return binding{own: true}
	case c.Offer.Empty():
		return binding{pool: quietPool + "\x00" + user, together: true, quiet: true}
	}
	return binding{pool: c.Principal + "\x00" + c.Offer.Key()}
}

// quietPool is the connection of clients that cannot be asked.
const quietPool = "quiet"

// slotOf is the slot that c uses now, nil when it has none yet.
func (u *Upstream) slotOf(c *Caller) *slot {
	return u.slotFor(c.binding(u))
}

func (u *Upstream) slotFor(b binding) *slot {
	if !b.own && b.pool == "" {
		return u.primary
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.slots[b.key]
}

func slotKey(b binding, c *Caller) string {
	switch {
	case b.own:
		return "own\x00" + c.Session
	case b.pool != "":
		return "pool\x00" + b.pool
	}
	return ""
}

// acquire returns a live connection for a call of c and what to do when the
// call is over.
func (u *Upstream) acquire(ctx context.Context, c *Caller, method string) (*link, func(), error) {
	if s := u.modernSlot(ctx, c); s != nil {
		l, err := u.linkOf(ctx, s, c, mcp.Modern)
		return l, func() {}, err
	}
	if l := u.legacySide(ctx, c); l != nil {
		return l, func() {}, nil
	}
	b := c.binding(u)
	if b != (binding{}) && u.primaryIsModern(ctx) {
		b = binding{} // nobody has to be kept apart on a stateless connection
	}
	switch {
	case b.own:
		s := u.slot(b.key, func(s *slot) {
			s.exclusive, s.user = true, u.userOf(c)
			s.session.Store(c)
		})
		l, err := u.linkOf(ctx, s, c, mcp.Legacy)
		return l, func() {}, err
	case b.pool != "" && !b.together && canAsk(method):
		return u.lease(ctx, c, b)
	case b.pool != "":
		s := u.slot(b.key, func(s *slot) { s.user = u.userOf(c) })
		if b.together && !b.quiet { // what the primary one is to all, this is to one user
			l, err := s.get(ctx, u.baseSpec())
			return l, func() {}, u.unavailable(ctx, err)
		}
		l, err := u.linkOf(ctx, s, c, mcp.Legacy)
		return l, func() {}, err
	}
	l, err := u.waitPrimary(ctx)
	return l, func() {}, err
}

// linkOf returns the connection in a slot, opening one for c where there is
// none.
func (u *Upstream) linkOf(ctx context.Context, s *slot, c *Caller, era mcp.Era) (*link, error) {
	if l := s.current(); l != nil {
		return l, nil
	}
	l, err := s.get(ctx, u.specFor(c, era))
	return l, u.unavailable(ctx, err)
}

// primaryIsModern says whether the server turned out to speak the modern era
// alone. It waits until that is known.
func (u *Upstream) primaryIsModern(ctx context.Context) bool {
	select {
	case <-u.settled:
	case <-ctx.Done():
	}
	l := u.primary.link.Load()
	return l != nil && l.era == mcp.Modern
}

// canAsk says whether a server may ask while it works on this method.
func canAsk(method string) bool {
	return method == mcp.MethodToolsCall || method == mcp.MethodPromptsGet || method == mcp.MethodResourcesRead
}

func (u *Upstream) slot(key string, init func(*slot)) *slot {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.slots[key]
	if s == nil {
		s = &slot{up: u}
		if init != nil {
			init(s)
		}
		u.slots[key] = s
	}
	return s
}

// specFor is how a connection for c is opened.
func (u *Upstream) specFor(c *Caller, era mcp.Era) spec {
	sp := u.baseSpec()
	sp.greeting = nil
	sp.era, sp.probe = era, false
	sp.offer = c.Offer
	if len(c.Info) > 0 && c.Session != "" {
		sp.info = c.Info
	}
	if c.Era == mcp.Legacy && c.Version != "" {
		sp.version = mcp.Rules(c.Version).Date
	}
	return sp
}

// lease gives c a connection that no other call uses meanwhile: over a pipe
// nothing but exclusivity tells whose call a question belongs to, and roots
// are never told on a connection that others use.
func (u *Upstream) lease(ctx context.Context, c *Caller, b binding) (*link, func(), error) {
	u.mu.Lock()
	free := u.leases[b.pool]
	var s *slot
	if n := len(free); n > 0 {
		s, u.leases[b.pool] = free[n-1], free[:n-1]
	}
	u.mu.Unlock()
	if s == nil {
		s = &slot{up: u, exclusive: true, user: u.userOf(c)}
	}
	give := func() { u.giveBack(b.pool, s) }
	l, err := s.get(ctx, u.specFor(c, mcp.Legacy))
	if err != nil {
		give()
		return nil, nil, u.unavailable(ctx, err)
	}
	return l, give, nil
}

const (
	maxFreeLeases = 4
	leaseIdle     = 5 * time.Minute
)

// giveBack keeps a leased connection for the next call, a few of them, for a
// while.
func (u *Upstream) giveBack(pool string, s *slot) {
	u.mu.Lock()
	keep := len(u.leases[pool]) < maxFreeLeases && u.life.Err() == nil
	if keep {
		u.leases[pool] = append(u.leases[pool], s)
		time.AfterFunc(leaseIdle, func() { u.expire(pool, s) })
	}
	u.mu.Unlock()
	if !keep {
		u.background.Go(func() { s.close(u.life) })
	}
}

func (u *Upstream) expire(pool string, s *slot) {
	u.mu.Lock()
	found := false
	for i, free := range u.leases[pool] {
		if free == s {
			u.leases[pool] = append(u.leases[pool][:i:i], u.leases[pool][i+1:]...)
			found = true
			break
		}
	}
	u.mu.Unlock()
	if found {
		s.close(u.life)
	}
}

// releaseOwn ends the connection that a session had to itself.
func (u *Upstream) releaseOwn(c *Caller) {
	key := slotKey(binding{own: true}, c)
	u.mu.Lock()
	s := u.slots[key]
	delete(u.slots, key)
	u.mu.Unlock()
	if s != nil && u.life.Err() == nil {
		u.background.Go(func() { s.close(u.life) })
	}
}

// noteAsks marks the server as one that asks. It counts for sessions that open
// later: a session never changes its connection.
func (u *Upstream) noteAsks(l *link) {
	if !l.slot.exclusive && u.opt.Memory.setAsks(u.hash) {
		u.log.Info("server asks its clients, so they will not share a connection from now on")
	}
}
