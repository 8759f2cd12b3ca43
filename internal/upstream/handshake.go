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

// A Greeting is what the only client of a stdio session says about itself. Its
// servers are started at once and greeted when it is known.
type Greeting struct {
	user   string
	done   chan struct{}
	caller *Caller
}

// NewGreeting returns the greeting of a principal, which is not known yet.
func NewGreeting(principal string) *Greeting {
	return &Greeting{user: principal, done: make(chan struct{})}
}

// Set makes the greeting known. It is called once.
func (g *Greeting) Set(c *Caller) {
	g.caller = c
	close(g.done)
}

// handshake opens the conversation in the era that the spec prefers; with
// probe in the other one too, where the first is refused.
//
// Only an answer lets the other era be tried on the same connection: many
// servers hold a pipe to the era of the first message, and one that is still
// starting has not read it yet.
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
	if d.discover(ctx, l, eraProbe) == nil {
		once{u}.learn(memory.Modern)
		return nil
	}
	return err
}

const (
	// eraProbe is how long a server that is up may take to answer
	// server/discover before it counts as one that does not know it.
	eraProbe = 2 * time.Second
	// pipeSilence is how long a process may take from its start to that answer.
	// Another one is started for the other era then.
	pipeSilence = 12 * time.Second
)

// silence is how long server/discover is waited for. A command that may have to
// download its program has all the time there is: ending it would leave half a
// download behind.
func (sp spec) silence(limit time.Duration) time.Duration {
	if !sp.probe || limit >= firstFetch {
		return limit
	}
	return min(pipeSilence, limit/2)
}

// firstFetch is how long a server may take to be greeted for the first time
// when its command may have to download it. Ending it earlier would leave half
// a download behind, every time anew.
const firstFetch = 5 * time.Minute

func (u *connections) greetLimit() time.Duration {
	if u.mayDownload() {
		return max(u.limits.Handshake, firstFetch)
	}
	return u.limits.Handshake
}

// mayDownload says whether the command may be downloading the server: it was
// never up.
func (u *connections) mayDownload() bool {
	return !u.greeted.Load() && u.Config().Transport() == config.TypeStdio && stdio.Fetches(u.Config().Command)
}

// await waits for the greeting, where there is one, and takes the client's
// words over.
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

// initialize shakes hands with a legacy server.
func (d dialer) initialize(ctx context.Context, l *link) error {
	l.era = mcp.Legacy
	return l.said.Initialize(ctx, l.peer, l, d.spec.hello)
}

// discover opens a conversation with a modern server.
func (d dialer) discover(ctx context.Context, l *link, patience time.Duration) error {
	l.era = mcp.Modern
	return l.said.Discover(ctx, l.peer, l, d.spec.hello, patience)
}
