package upstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/greet"
	"mcp-all-in-one/internal/upstream/inflight"
	"mcp-all-in-one/internal/upstream/memory"
)

// bind decides how a client reaches this server.
//
// Over HTTP a connection costs nothing, so there is one for every set of offers;
// a client with roots has one to itself, because a server keeps the roots that
// it was told. Over a pipe one connection serves everybody until the server
// asks. From then on clients that can be asked get a connection of their own,
// with exactly what they offer; the others share one that offers nothing.
// Servers that never ask never cost a second process.
//
// With share: project, clients of one principal that work on the same share one,
// also on stdio, where the only client may come to work on something else.
func (e *entry) bind(c *Caller) binding {
	user, share := e.userOf(c), e.Config().Share
	if p := c.Project(); p != nil && e.Config().ByProject() {
		return binding{pool: "project\x00" + c.Principal + "\x00" + p.ID(), together: true, project: p}
	}
	if e.opt.Greeting != nil {
		return binding{}
	}
	quiet := c.Offer.Key() == ""
	switch apart := share == "session" || share == "auto" && e.opt.Memory.Asks(e.hash); {
	case share == "session" && c.Session != "":
		return binding{own: true}
	case quiet && user == "" && e.byOffer():
		return binding{}
	case !apart && e.byOffer() && !c.Offer.Roots:
		return binding{pool: "offer\x00" + user + "\x00" + c.Offer.Key(), together: true, exact: true}
	case !apart && !e.byOffer() && user != "":
		return binding{pool: "user\x00" + user, together: true}
	case !apart && !e.byOffer():
		return binding{}
	case c.Session != "" && !c.Offer.Empty():
		return binding{own: true}
	case c.Offer.Empty():
		return binding{pool: quietPool + "\x00" + user, together: true, exact: true}
	}
	return binding{pool: c.Principal + "\x00" + c.Offer.Key()}
}

// Alone says that a client has a connection to itself, or shares the one of its
// project.
func (e *entry) Alone(c *Caller) bool {
	b := e.bind(c)
	return b.own || b.project != nil
}

// Standing is equal for calls whose answers may stand for each other as far as the
// server is concerned: they take the same connection, with the same values of its
// user, and its state, its lists and its entry are the same. It may have secrets in
// it, and is empty for a call that cannot be made.
func Standing(u *Upstream, c *Caller) string {
	values, err := personal{&u.connections}.ready(c)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %q %q %q", u.standing.Load(), c.binding(&u.connections).key, u.userOf(c), values)
}

// Asked is how many questions a server has asked so far.
func Asked(u *Upstream) uint64 { return u.calls.Asked.Load() }

// restand notes that the answers of a server may be others from now on.
func restand(e *entry) { e.standing.Store(standings.Add(1)) }

// SignedOut notes that a user has signed out of a server, or the gateway for "":
// what was opened before ends, and what was answered stands for nothing.
func SignedOut(u *Upstream, user string) {
	restand(&u.entry)
	personal{&u.connections}.end(user)
}

// standings counts for all servers: one that takes another's place has none of its
// numbers.
var standings atomic.Uint64

// byOffer says that there is a connection for every set of offers; the primary
// one offers nothing.
func (e *entry) byOffer() bool {
	return e.Config().Share == "auto" && e.Config().Transport() == config.TypeHTTP && e.opt.Greeting == nil
}

// quietPool is the connection of clients that cannot be asked.
const quietPool = "quiet"

// slotOf is the slot that c uses now, nil when it has none yet.
func (u *connections) slotOf(c *Caller) *slot {
	b := c.binding(u)
	if !b.own && b.pool == "" {
		return u.primary
	}
	return u.slots.get(b.key)
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
// call is over. Where users bring values along, it was opened with those that
// the user of c has now.
func (u *connections) acquire(ctx context.Context, c *Caller, method string) (*link, func(), error) {
	for range 3 { // a user may change them meanwhile
		values, err := personal{u}.ready(c)
		switch {
		case err == nil:
		case errors.As(err, new(*failure.ValueError)), errors.As(err, new(*jsonrpc.Error)): // what its user has to do
			return nil, nil, err
		default:
			return nil, nil, u.report.Unavailable(ctx, err)
		}
		l, release, err := u.connection(ctx, c, method)
		if err != nil || maps.Equal(l.values, values) {
			return l, release, err
		}
		release()
		outdate(l)
	}
	return nil, nil, u.report.Unavailable(ctx, errOtherValues)
}

// connection is acquire, whatever values the connection was opened with.
func (u *connections) connection(ctx context.Context, c *Caller, method string) (*link, func(), error) {
	if s := u.modernSlot(ctx, c); s != nil {
		l, err := s.get(ctx, u.specFor(c, mcp.Modern))
		if !greet.RefusesModern(err) {
			return l, func() {}, u.report.Unavailable(ctx, err)
		}
		// It spoke both eras when it was last asked. It was replaced since.
		once{u}.learn(memory.Legacy)
	}
	if l := u.legacySide(ctx, c); l != nil {
		return l, func() {}, nil
	}
	b := c.binding(u)
	if b != (binding{}) && b.project == nil && u.userOf(c) == "" && u.primaryIsModern(ctx) {
		b = binding{} // nobody has to be kept apart on a stateless connection
	}
	if b == (binding{}) {
		l, err := u.waitPrimary(ctx)
		if err != nil || l.calls.Serves(c) {
			return l, func() {}, err
		}
		b = c.rebind(u)
	}
	if u.byOffer() && u.userOf(c) == "" {
		// A host that is away is not asked by every client.
		if _, err := u.waitPrimary(ctx); err != nil {
			return nil, nil, err
		}
	}
	if b.own {
		s := u.slots.getOr(b.key, func() *slot {
			s := &slot{up: u, exclusive: true, user: u.userOf(c)}
			s.session.Store(c)
			return s
		})
		l, err := u.linkOf(ctx, s, c, mcp.Legacy)
		return l, func() {}, err
	}
	if !b.together && inflight.CanAsk(method) {
		return u.lease(ctx, c, b)
	}
	return u.pooled(ctx, c, b)
}

// linkOf returns the connection in a slot, opening one for c where there is
// none.
func (u *connections) linkOf(ctx context.Context, s *slot, c *Caller, era mcp.Era) (*link, error) {
	if l := s.current(); l != nil {
		return l, nil
	}
	l, err := s.get(ctx, u.specFor(c, era))
	return l, u.report.Unavailable(ctx, err)
}

// primaryIsModern says whether the server turned out to speak the modern era
// alone. It waits until that is known.
func (u *connections) primaryIsModern(ctx context.Context) bool {
	select {
	case <-u.settled:
	case <-ctx.Done():
	}
	l := u.primary.link.Load()
	return l != nil && l.era == mcp.Modern
}

// specFor is how a connection for c is opened.
func (u *connections) specFor(c *Caller, era mcp.Era) spec {
	sp := u.baseSpec()
	sp.greeting = nil
	if era == mcp.Modern || u.userOf(c) == "" { // the primary one says nothing of a user's
		sp.era, sp.probe = era, false
	}
	sp.hello.Offer = c.Offer
	if len(c.Info) > 0 && c.Session != "" {
		sp.hello.Info = c.Info
	}
	if c.Era == mcp.Legacy && c.Version != "" {
		sp.hello.Version = mcp.Rules(c.Version).Date
	}
	return sp
}

// releaseOwn ends the connection that a session had to itself.
func (u *connections) releaseOwn(c *Caller) {
	if s := u.slots.remove(slotKey(binding{own: true}, c)); s != nil && u.life.Err() == nil {
		s.end()
	}
}

// noteAsks marks the server as one that asks. It counts for sessions that open
// later: a session never changes its connection.
func (e *entry) noteAsks(l *link) {
	if !l.slot.exclusive && e.Config().Share == "auto" && e.opt.Memory.SetAsks(e.hash) {
		e.log.Info("server asks its clients, so they will not share a connection from now on")
	}
}
