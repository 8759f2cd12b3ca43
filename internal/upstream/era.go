package upstream

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/greet"
	"mcp-all-in-one/internal/upstream/memory"
	"mcp-all-in-one/internal/upstream/modern"
)

func (u *connections) baseSpec() spec {
	sp := spec{
		era: mcp.Legacy, probe: true, greeting: u.opt.Greeting,
		hello: greet.Hello{Version: mcp.LatestLegacy, Offer: mcp.Everything, Info: u.opt.Info},
	}
	if u.byOffer() {
		sp.hello.Offer = mcp.Offer{}
	}
	switch p := u.Config().Protocol; {
	case p == "" || p == "auto":
		if (once{u}).eras() == memory.Modern {
			sp.era = mcp.Modern
		}
	case p == "modern" || mcp.Rules(p).Era == mcp.Modern:
		sp.era, sp.probe = mcp.Modern, false
	case p == "legacy":
		sp.probe = false
	default:
		sp.probe, sp.hello.Version = false, p
	}
	return sp
}

// findEras finds out over HTTP which eras a server speaks. Probing is safe over HTTP: it
// cannot make a process exit, and one request does not tie the next one to its era. If both
// the connection and the error are nil, the caller must still send a legacy initialize.
func (d dialer) findEras(ctx context.Context) (*link, error) {
	u, sp := d.up, d.spec
	modern, err := d.probeHTTP(ctx, mcp.Modern, eraProbe)
	switch {
	case err != nil && (httpclient.NotSent(err) || failure.IsAuth(err) || ctx.Err() != nil):
		return nil, err
	case err != nil:
		return nil, nil
	case modern.said.SpeaksLegacy():
		once{u}.learn(memory.Both)
		if sp.era == mcp.Modern {
			return modern, nil
		}
		modern.close(ctx)
		return nil, nil
	}
	// Some servers list only modern versions but accept initialize too. This one is running,
	// so it is worth to wait for its answer, which is remembered.
	legacy, err := d.probeHTTP(ctx, mcp.Legacy, sp.silence(u.greetLimit()))
	if err != nil {
		if failure.AnswersOtherEra(err) {
			once{u}.learn(memory.Modern)
		}
		return modern, nil
	}
	once{u}.learn(memory.Both)
	if sp.era == mcp.Modern {
		legacy.close(ctx)
		return modern, nil
	}
	modern.close(ctx)
	return legacy, nil
}

// probeHTTP opens a connection in one era. It gives up after patience.
func (d dialer) probeHTTP(ctx context.Context, era mcp.Era, patience time.Duration) (*link, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, failure.TooLate(patience))
	defer cancel()
	return d.connectHTTPEra(ctx, era)
}

func otherEra(e mcp.Era) mcp.Era {
	if e == mcp.Modern {
		return mcp.Legacy
	}
	return mcp.Modern
}

// modernSlot returns the slot for a modern client if the server speaks the modern era in
// addition to the era of its primary connection. It returns nil if the client must use the
// primary connection. It also returns nil for a client of a project, which has one process
// for both eras.
func (u *connections) modernSlot(ctx context.Context, c *Caller) *slot {
	if c.Era != mcp.Modern || !u.mayHaveBoth() || u.asksOldWay() || c.binding(u).project != nil {
		return nil
	}
	known := once{u}.eras()
	if known == memory.Unknown {
		known = u.probeModern(ctx)
	}
	if known != memory.Both {
		return nil
	}
	user := u.userOf(c)
	return u.slots.getOr("modern"+user, func() *slot { return &slot{up: u, user: user} })
}

// openModern returns the slot that modernSlot has created for a client, or nil.
func (u *connections) openModern(c *Caller) *slot {
	if c.Era != mcp.Modern || !u.mayHaveBoth() || u.asksOldWay() {
		return nil
	}
	return u.slots.get("modern" + u.userOf(c))
}

// mayHaveBoth reports whether the server may have connections of both eras.
func (e *entry) mayHaveBoth() bool {
	p := e.Config().Protocol
	return e.opt.Greeting == nil && (p == "" || p == "auto")
}

// probeModern finds out whether a server with a legacy primary connection speaks the modern
// era too, and remembers the result. It returns Unknown if the answer takes longer than
// eraProbe; a later answer counts for the next call.
func (u *connections) probeModern(ctx context.Context) memory.Eras {
	l, err := u.waitPrimary(ctx)
	if err != nil {
		return memory.Unknown
	}
	if l.there() {
		return memory.Both
	}
	if l.era == mcp.Modern {
		return memory.Modern
	}
	select {
	case <-u.probe(l).Done():
	case <-ctx.Done():
	}
	return once{u}.eras()
}

// probe asks a server for its eras, unless that is under way. The context that it returns
// ends with the answer, at the latest after eraProbe.
func (u *connections) probe(l *link) context.Context {
	u.probing.Lock()
	defer u.probing.Unlock()
	if u.probed != nil {
		return u.probed
	}
	wait, cancel := context.WithTimeout(u.life, eraProbe)
	u.probed = wait
	go func() {
		defer cancel()
		found := memory.Legacy
		if u.speaksModern(u.life, l) {
			found = memory.Both
		}
		u.probing.Lock()
		defer u.probing.Unlock()
		u.probed = nil
		if u.life.Err() == nil && l.alive() {
			once{u}.learn(found)
		}
	}()
	return wait
}

func (u *connections) speaksModern(ctx context.Context, l *link) bool {
	ctx, cancel := context.WithTimeout(ctx, pipeSilence)
	defer cancel()
	sp := u.baseSpec()
	sp.greeting, sp.probe = nil, true
	if u.Config().Transport() != config.TypeStdio {
		if u.Config().Transport() == config.TypeSSE {
			return false
		}
		m, err := dialer{up: u, slot: &slot{up: u}, spec: sp}.connectHTTPEra(ctx, mcp.Modern)
		if err != nil {
			return false
		}
		m.close(ctx)
		return true
	}
	params := l.withMeta([]byte(`{}`), &Caller{Offer: sp.hello.Offer, Era: mcp.Modern})
	resp, err := l.peer.Call(ctx, &jsonrpc.Request{Method: mcp.MethodDiscover, Params: params})
	if err != nil || resp.Err != nil {
		return false
	}
	defer resp.Release()
	return slices.Contains(modern.Versions(jsonrpc.Get(resp.Result, "supportedVersions")), mcp.LatestModern)
}

// levelWait is how long a client that sets a log level waits for a server.
const levelWait = 5 * time.Second

// setLevel sends the log level of the caller to a legacy server, if it differs from the
// level that was sent last.
func (l *link) setLevel(ctx context.Context, level string) error {
	if level == "" || !l.said.Has("logging") {
		return nil
	}
	l.levelMu.Lock()
	defer l.levelMu.Unlock()
	if l.level == level {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, levelWait)
	defer cancel()
	resp, err := l.ask(bounded, mcp.MethodSetLevel, fmt.Appendf(nil, `{"level":%q}`, level))
	// A server that does not answer would delay the next client too.
	if err == nil && resp.Err == nil || bounded.Err() != nil && ctx.Err() == nil {
		l.level = level
	}
	return err
}

// SetLevel sends the log level of a session to the server. On a shared connection it sends
// only a level that is more verbose than the last one, and each session filters for itself.
func (u *Upstream) SetLevel(ctx context.Context, c *Caller, level string) error {
	s := u.slotOf(c)
	if s == nil {
		return nil
	}
	l := s.current()
	if l == nil || l.era == mcp.Modern {
		return nil
	}
	if !s.exclusive {
		l.levelMu.Lock()
		told := l.level
		l.levelMu.Unlock()
		if told != "" && mcp.LevelAtLeast(level, told) {
			return nil
		}
	}
	return l.setLevel(ctx, level)
}

// legacySide returns the legacy connection of the only client of a stdio session to a
// server whose primary connection is modern. It returns nil if the client must use the
// primary connection.
func (u *connections) legacySide(ctx context.Context, c *Caller) *link {
	l := u.primary.current()
	if u.opt.Greeting == nil || c.Era != mcp.Modern || l == nil || l.era != mcp.Modern || !u.asksOldWay() || c.binding(u).project != nil {
		return nil
	}
	s := u.slots.getOr("legacy", func() *slot {
		s := &slot{up: u, exclusive: true, user: u.primary.user}
		s.session.Store(u.primary.owner())
		return s
	})
	legacy, err := u.linkOf(ctx, s, c, mcp.Legacy)
	if err != nil && ctx.Err() == nil {
		u.opt.Memory.SetOldWay(u.hash, false) // the server does not speak the legacy era after all
	}
	return legacy
}

// asksOldWay reports whether modern clients use the legacy side of the server.
func (e *entry) asksOldWay() bool {
	p := e.Config().Protocol
	return (p == "" || p == "auto") && e.opt.Memory.OldWay(e.hash)
}

// noteOldWay remembers that the server's tools send questions as legacy requests. The call
// that revealed this has run, so it is not repeated; later calls use the legacy side.
func (e *entry) noteOldWay() {
	if e.opt.Memory.SetOldWay(e.hash, true) {
		e.log.Info("the server sends requests to clients only in the legacy era; using that era from now on")
	}
}

// HasTasks reports whether any connection to the server has declared tasks, in either era.
func (u *Upstream) HasTasks() bool { return u.tasks.Load() }

// Tasks returns the era in whose dialect the server supports tasks for c; false if the
// server has no tasks.
func (u *Upstream) Tasks(ctx context.Context, c *Caller) (mcp.Era, bool) {
	if !u.tasks.Load() {
		return mcp.Legacy, false
	}
	if s := u.modernSlot(ctx, c); s != nil {
		l := s.current()
		return mcp.Modern, l == nil || l.said.HasTasks(l.era)
	}
	l := u.legacySide(ctx, c)
	if s := u.slotOf(c); l == nil && s != nil {
		l = s.current()
	}
	if p := u.primary.current(); l == nil || p != nil && p.era == mcp.Modern && l.slot != p.slot && c.Era == mcp.Legacy {
		l = p
	}
	if l == nil {
		return mcp.Legacy, false
	}
	return l.era, l.said.HasTasks(l.era)
}
