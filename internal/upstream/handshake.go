package upstream

import (
	"context"
	"errors"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/greet"
	"mcp-all-in-one/internal/upstream/memory"
)

// A Greeting holds what the only client of a stdio session says about itself. The servers
// are started at once; the handshake waits for the greeting.
type Greeting struct {
	user   string
	done   chan struct{}
	caller *Caller
}

// NewGreeting returns the greeting of a principal. Set supplies its content.
func NewGreeting(principal string) *Greeting {
	return &Greeting{user: principal, done: make(chan struct{})}
}

// Set supplies the greeting. It must be called exactly once.
func (g *Greeting) Set(c *Caller) {
	g.caller = c
	close(g.done)
}

// handshake performs the handshake in the era that the spec prefers. If probe is set and
// the server refuses that era, it tries the other one.
//
// The other era is tried on the same connection only after an answer: many servers tie a
// pipe to the era of the first message, and a server that is still starting has not read
// that message yet.
func (d dialer) handshake(ctx context.Context, l *link) (err error) {
	u, sp := d.up, d.spec
	l.offer = sp.hello.Offer
	limit := u.greetLimit()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, failure.TooLate(limit))
	defer cancel()
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), failure.ErrSlow) {
			u.opt.Hits.Add("handshake")
		}
		if l.said.HasTasks(l.era) {
			u.tasks.Store(true)
		}
	}()
	if sp.era == mcp.Modern {
		err := d.discover(ctx, l, sp.silence(limit))
		switch {
		case err == nil && sp.probe && l.said.SpeaksLegacy():
			once{u}.learn(memory.Both)
		case sp.probe && greet.RefusesModern(err):
			if err = d.initialize(ctx, l); err == nil {
				once{u}.learn(memory.Legacy)
			}
		}
		return err
	}
	err = d.initialize(ctx, l)
	if err == nil || !sp.probe || !l.alive() || !failure.AnswersOtherEra(err) {
		return err
	}
	if d.discover(ctx, l, sp.silence(limit)) == nil {
		once{u}.learn(memory.Modern)
		return nil
	}
	return err
}

const (
	// eraProbe is how long a client waits while a running server is asked server/discover.
	eraProbe = 2 * time.Second
	// pipeSilence is how long a server may take to answer server/discover. After that it
	// counts as one that does not know the method, and a new process, which has read it as
	// its first message, is replaced by another for the legacy era.
	pipeSilence = 12 * time.Second
)

// silence returns how long to wait for the answer to server/discover. A command that may
// have to download its program gets the whole limit: killing it would leave half a download
// behind.
func (sp spec) silence(limit time.Duration) time.Duration {
	if !sp.probe || limit >= firstFetch {
		return limit
	}
	return min(pipeSilence, limit/2)
}

// firstFetch is how long the first handshake may take if the command may have to download
// the server. A shorter limit would leave half a download behind on every attempt.
const firstFetch = 5 * time.Minute

func (u *connections) greetLimit() time.Duration {
	if u.mayDownload() {
		return max(u.limits.Handshake, firstFetch)
	}
	return u.limits.Handshake
}

// mayDownload reports whether the command may still be downloading the server: the server
// has never been up.
func (u *connections) mayDownload() bool {
	return !u.greeted.Load() && u.Config().Transport() == config.TypeStdio && stdio.Fetches(u.Config().Command)
}

// await waits for the greeting, if there is one, and copies the client's values into the
// spec.
func (d *dialer) await(ctx context.Context) error {
	u, sp := d.up, &d.spec
	if sp.greeting == nil {
		return nil
	}
	select {
	case <-sp.greeting.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c := sp.greeting.caller
	sp.greeting = nil
	sp.hello.Offer = c.Offer
	if len(c.Info) > 0 {
		sp.hello.Info = c.Info
	}
	if c.Era == mcp.Legacy && c.Version != "" {
		sp.hello.Version = mcp.Rules(c.Version).Date
	}
	if c.Era == mcp.Modern && sp.probe && (once{u}).eras() != memory.Legacy && !u.asksOldWay() {
		sp.era = mcp.Modern
	}
	u.primary.session.Store(c)
	return nil
}

func (d dialer) initialize(ctx context.Context, l *link) error {
	l.era = mcp.Legacy
	return l.said.Initialize(ctx, l.peer, l, d.spec.hello)
}

func (d dialer) discover(ctx context.Context, l *link, patience time.Duration) error {
	l.era = mcp.Modern
	return l.said.Discover(ctx, l.peer, l, d.spec.hello, patience)
}
