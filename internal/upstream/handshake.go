package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/memory"
	"mcp-all-in-one/internal/upstream/modern"
)

// A Greeting is what the only client of a stdio session says about itself. Its
// servers are started at once and greeted when it is known.
type Greeting struct {
	done   chan struct{}
	caller *Caller
}

// NewGreeting returns a greeting that is not known yet.
func NewGreeting() *Greeting { return &Greeting{done: make(chan struct{})} }

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
func (u *Upstream) handshake(ctx context.Context, l *link, sp spec) (err error) {
	l.offer = sp.offer
	limit := u.greetLimit()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, failure.TooLate(limit))
	defer cancel()
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), failure.ErrSlow) {
			u.opt.Hits.Add("handshake")
		}
	}()
	if sp.era == mcp.Modern {
		err := l.discover(ctx, sp, u.silence(sp, limit))
		switch {
		case err == nil && sp.probe && slices.ContainsFunc(l.speaks, isLegacyVersion):
			once{u}.learn(memory.Both)
		case sp.probe && refusesModern(err):
			if err = l.initialize(ctx, sp); err == nil {
				once{u}.learn(memory.Legacy)
			}
		}
		return err
	}
	err = l.initialize(ctx, sp)
	if err == nil || !sp.probe || !l.alive() || !failure.AnswersOtherEra(err) {
		return err
	}
	if l.discover(ctx, sp, eraProbe) == nil {
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
func (u *Upstream) silence(sp spec, limit time.Duration) time.Duration {
	if !sp.probe || limit >= firstFetch {
		return limit
	}
	return min(pipeSilence, limit/2)
}

var errNotModern = i18n.Errorf("none of these versions is modern", "其中没有新版协议")

// firstFetch is how long a server may take to be greeted for the first time
// when its command may have to download it. Ending it earlier would leave half
// a download behind, every time anew.
const firstFetch = 5 * time.Minute

func (u *Upstream) greetLimit() time.Duration {
	if u.mayDownload() {
		return max(u.limits.Handshake, firstFetch)
	}
	return u.limits.Handshake
}

// mayDownload says whether the command may be downloading the server: it was
// never up.
func (u *Upstream) mayDownload() bool {
	return !u.greeted.Load() && u.transport() == config.TypeStdio && stdio.Fetches(u.Config().Command)
}

// await waits for the greeting, where there is one, and takes the client's
// words over.
func (u *Upstream) await(ctx context.Context, sp *spec) error {
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
	sp.offer = c.Offer
	if len(c.Info) > 0 {
		sp.info = c.Info
	}
	if c.Era == mcp.Legacy && c.Version != "" {
		sp.version = mcp.Rules(c.Version).Date
	}
	if c.Era == mcp.Modern && sp.probe && (once{u}).eras() != memory.Legacy && !u.asksOldWay() {
		sp.era = mcp.Modern
	}
	u.primary.session.Store(c)
	return nil
}

// refusesModern says that a server answered server/discover as one that is not
// modern.
func refusesModern(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire) || errors.Is(err, errNotModern)
}

// initialize shakes hands with a legacy server.
func (l *link) initialize(ctx context.Context, sp spec) error {
	l.era = mcp.Legacy
	rules := mcp.Rules(sp.version)
	params := fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,"clientInfo":%s}`,
		sp.version, sp.offer.JSON(rules, true), sp.info)
	resp, err := l.peer.Call(ctx, &jsonrpc.Request{Method: mcp.MethodInitialize, Params: params, Back: l})
	if err != nil {
		return failure.Cause(ctx, err)
	}
	if resp.Err != nil {
		return resp.Err
	}
	version, _ := jsonrpc.GetString(resp.Result, "protocolVersion")
	if v, ok := mcp.Lookup(version); !ok || v.Era != mcp.Legacy {
		return i18n.Errorf("the server answered with protocol version %q, which is none of %v", "服务返回的协议版本 %q 不在 %v 之中", version, mcp.Versions(mcp.Legacy))
	}
	l.version, l.speaks = version, []string{version}
	l.describe(resp.Result, jsonrpc.Get(resp.Result, "serverInfo"))
	resp.Release()
	if client, ok := l.peer.(*httpclient.Client); ok {
		client.SetVersion(version)
	}
	return l.peer.Notify(ctx, &jsonrpc.Notification{Method: mcp.NotificationInitialized})
}

// discover opens a conversation with a modern server.
func (l *link) discover(ctx context.Context, sp spec, patience time.Duration) error {
	l.era = mcp.Modern
	ctx, cancel := context.WithTimeoutCause(ctx, patience, failure.TooLate(patience))
	defer cancel()
	l.version = mcp.LatestModern
	params := l.withMeta([]byte(`{}`), &Caller{Offer: sp.offer, Info: sp.info})
	resp, err := l.ours(ctx, &jsonrpc.Request{Method: mcp.MethodDiscover, Params: params, Back: l})
	if err != nil {
		return failure.Cause(ctx, err)
	}
	if resp.Err != nil {
		return resp.Err
	}
	defer resp.Release()
	speaks := modern.Versions(jsonrpc.Get(resp.Result, "supportedVersions"))
	if !slices.Contains(speaks, mcp.LatestModern) {
		return i18n.Errorf("the server speaks %v: %w", "服务支持 %v：%w", speaks, errNotModern)
	}
	l.speaks = speaks
	l.describe(resp.Result, jsonrpc.Get(resp.Result, "_meta", mcp.MetaServerInfo))
	return nil
}

// describe keeps what the server says of itself.
func (l *link) describe(result, info []byte) {
	l.capabilities = slices.Clone(jsonrpc.Get(result, "capabilities"))
	l.info = slices.Clone(info)
	l.instructions, _ = jsonrpc.GetString(result, "instructions")
	if l.hasTasks() {
		l.up.tasks.Store(true)
	}
}
