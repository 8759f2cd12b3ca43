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
	"mcp-all-in-one/internal/upstream/hop"
	"mcp-all-in-one/internal/upstream/inflight"
	"mcp-all-in-one/internal/upstream/memory"
)

// bind decides how a client reaches this server.
//
// Over HTTP a connection costs nothing, so there is one for every offer. A client with
// roots has a connection to itself, because a server keeps the roots that it was told. Over
// a pipe one connection serves all clients until the server asks a question. From then on
// each client that can be asked gets its own connection with exactly its offer; the others
// share a connection that offers nothing. A server that never asks never costs a second
// process.
//
// A client outside any session cannot have a connection to itself between its requests. If a
// server asks for roots outside any call, such clients are asked for theirs first, and share
// connections with those of the same principal, offer and roots.
//
// With share: project, the clients of one principal that work on the same project share a
// connection. This also holds on stdio, where the only client may move to another project.
func (e *entry) bind(c *Caller) binding {
	user, share := e.userOf(c), e.Config().Share
	if p := c.Project(); p.Somewhere() && e.Config().ByProject() {
		return binding{pool: "project\x00" + c.Principal + "\x00" + p.ID(), together: true, project: p}
	}
	if e.opt.Greeting != nil {
		return binding{}
	}
	if p := c.Project(); p != nil && e.byRoots(c) {
		return binding{pool: "roots\x00" + c.Principal + "\x00" + c.Offer.Key() + "\x00" + p.ID(), project: p}
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

// byRoots reports whether c uses a connection of clients with the same roots.
func (e *entry) byRoots(c *Caller) bool {
	legacy := e.opt.Memory.Eras(e.hash) == memory.Legacy || e.asksOldWay() || !e.mayHaveBoth()
	return c.Session == "" && c.Offer.Roots && !c.Peer && e.Config().Share == "auto" && e.opt.Greeting == nil && legacy && e.opt.Memory.Roots(e.hash)
}

// ByProject reports whether the roots of c decide which connection it uses.
func ByProject(ctx context.Context, u *Upstream, c *Caller) bool {
	return u.Config().ByProject() || u.opt.Memory.Roots(u.hash) && u.modernSlot(ctx, c) == nil && u.byRoots(c)
}

// Alone reports whether a process runs, or will run, for a client alone or for its project.
func Alone(u *Upstream, c *Caller) bool { return c.binding(&u.connections).alone(&u.connections) }

func (b binding) alone(u *connections) bool {
	return (b.own || b.project != nil) && u.Config().Type == config.TypeStdio
}

// Standing returns a key for sharing answers. Calls with equal keys use the same connection
// with the same per-user values, and the state, the lists and the configuration of the
// server are the same, so the answer to one may be used for the other. The key may contain
// secrets. It is empty if the call cannot be made, as for a nil u.
func Standing(u *Upstream, c *Caller) string {
	if u == nil {
		return ""
	}
	values, err := personal{&u.connections}.ready(c)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %q %q %q", u.standing.Load(), c.binding(&u.connections).key, u.userOf(c), values)
}

// Asked returns how many questions a server has asked so far.
func Asked(u *Upstream) uint64 { return u.calls.Asked.Load() }

// restand records that the answers of a server may differ from now on.
func restand(e *entry) { e.standing.Store(standings.Add(1)) }

// SignedOut records that a user (or the gateway, for "") has signed out of a server. It
// ends the connections of that user and invalidates the shared answers.
func SignedOut(u *Upstream, user string) {
	restand(&u.entry)
	personal{&u.connections}.end(user)
}

// standings counts across all servers, so that a server that replaces another one never
// reuses its numbers.
var standings atomic.Uint64

// byOffer reports whether there is one connection for every offer. The primary one then
// offers nothing.
func (e *entry) byOffer() bool {
	t := e.Config().Transport()
	return e.Config().Share == "auto" && (t == config.TypeHTTP || t == config.TypeSSE) && e.opt.Greeting == nil
}

// quietPool is the pool of clients that cannot be asked.
const quietPool = "quiet"

// slotOf returns the slot that c uses now; nil if it has none yet.
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

// acquire returns a live connection for a call of c, and a function to call after the call
// has ended. It waits for the client's turn, if there are turns. If the server has per-user
// values, the connection was opened with the current values of the user of c.
func (u *connections) acquire(ctx context.Context, c *Caller, req *jsonrpc.Request) (*link, func(), error) {
	for range 5 { // meanwhile a user may change the values, and the server may ask
		b := c.binding(u)
		values, err := personal{u}.ready(c)
		switch {
		case err == nil:
		case errors.As(err, new(*failure.ValueError)), errors.As(err, new(*jsonrpc.Error)): // the error tells the user what to do
			return nil, nil, err
		default:
			return nil, nil, u.report.Unavailable(ctx, err)
		}
		l, release, err := u.connection(ctx, c, req.Method)
		if err != nil {
			return nil, nil, err
		}
		if !maps.Equal(l.values, values) {
			release()
			outdate(l)
			continue
		}
		end, err := turn(ctx, l, c, req)
		if err != nil {
			release()
			return nil, nil, u.report.Unavailable(ctx, err)
		}
		if end != nil {
			give := release
			release = func() { end(); give() }
		}
		if c.keep(u, b) {
			if b.own && c.ended() {
				release()
				u.releaseOwn(c)
				return nil, nil, u.report.Unavailable(ctx, errStopped)
			}
			return l, release, nil
		}
		release()
	}
	return nil, nil, u.report.Unavailable(ctx, errOtherValues)
}

// connection is like acquire, but does not check the values of the connection.
func (u *connections) connection(ctx context.Context, c *Caller, method string) (*link, func(), error) {
	if s := u.modernSlot(ctx, c); s != nil {
		l, err := s.get(ctx, u.specFor(c, mcp.Modern))
		if !greet.RefusesModern(err) {
			return l, func() {}, u.report.Unavailable(ctx, err)
		}
		// The server spoke both eras earlier; it has been replaced since.
		once{u}.learn(memory.Legacy)
	}
	if l := u.legacySide(ctx, c); l != nil {
		return l, func() {}, nil
	}
	b := c.binding(u)
	if b != (binding{}) && b.project == nil && u.userOf(c) == "" && u.primaryIsModern(ctx) {
		b = binding{} // a stateless connection needs no separation of clients
	}
	if b == (binding{}) {
		l, err := u.waitPrimary(ctx)
		if err != nil || l.serves(c) {
			return l, func() {}, err
		}
		b = c.rebind(u)
	}
	if u.byOffer() && u.userOf(c) == "" {
		// If the host is down, not every client has to try to connect.
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

// serves reports whether c may use the primary connection, which clients share unless it
// has an owner, as on stdio.
func (l *link) serves(c *Caller) bool {
	return l.slot.owner() == c || l.calls.Serves(c, c.Offer.Roots && !c.Peer)
}

// linkOf returns the connection in a slot. If there is none, it opens one for c.
func (u *connections) linkOf(ctx context.Context, s *slot, c *Caller, era mcp.Era) (*link, error) {
	if l := s.current(); l != nil {
		return l, nil
	}
	l, err := s.get(ctx, u.specFor(c, era))
	return l, u.report.Unavailable(ctx, err)
}

// primaryIsModern reports whether the primary connection is modern. It waits until the
// server has answered or failed once.
func (u *connections) primaryIsModern(ctx context.Context) bool {
	select {
	case <-u.settled:
	case <-ctx.Done():
	}
	l := u.primary.link.Load()
	return l != nil && l.era == mcp.Modern
}

func (u *connections) specFor(c *Caller, era mcp.Era) spec {
	sp := u.baseSpec()
	sp.greeting = nil
	if era == mcp.Modern || u.userOf(c) == "" { // what the primary one learnt does not hold for a user's
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

func (u *connections) releaseOwn(c *Caller) {
	if s := u.slots.remove(slotKey(binding{own: true}, c)); s != nil && u.life.Err() == nil {
		s.end()
	}
}

// noteAsks remembers that the server asks questions. This affects only sessions that have
// not called it yet: a session never changes the connection that its calls use.
func (u *connections) noteAsks(l *link) {
	if !l.slot.exclusive && u.Config().Share == "auto" && u.opt.Memory.SetAsks(u.hash) {
		u.log.Info("server asks its clients, so they will not share a connection from now on")
		u.calls.Trials.Asked()
	}
}

// turn waits until c may call a tool that has not run yet, on a pipe that clients share and
// whose server has not asked anything yet. end must be called after the call, unless it is
// nil.
func turn(ctx context.Context, l *link, c *Caller, req *jsonrpc.Request) (end func(), err error) {
	u := l.up
	if req.Method != mcp.MethodToolsCall || c.Offer.Empty() || l.era == mcp.Modern || l.slot.exclusive || l.there() || u.byOffer() || !l.mayLend() || u.opt.Memory.Asks(u.hash) {
		return nil, nil
	}
	var client any = c
	if c.Peer {
		client = hop.Client(ctx)
	}
	tool, _ := jsonrpc.GetString(req.Params, "name")
	return u.calls.Trials.Enter(ctx, client, tool)
}
