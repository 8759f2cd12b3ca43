package upstream

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/greet"
	"mcp-all-in-one/internal/upstream/inflight"
	"mcp-all-in-one/internal/upstream/memory"
	"mcp-all-in-one/internal/upstream/modern"
)

// A spec says how a connection is to be opened.
type spec struct {
	era   mcp.Era
	probe bool // the era is not known: ask
	hello greet.Hello
	// greeting, when set, is waited for before the server is greeted: it says
	// what the only client offers.
	greeting *Greeting
	// spot is where the server is, when it runs once in a cluster.
	spot *Spot
}

// dialHold is how long one server counts among those being connected to.
const dialHold = 2 * time.Second

var errStopped = i18n.Errorf("the server was stopped", "服务已停止")

// open makes a connection for a slot: transport, handshake, lists,
// subscriptions.
func (u *Upstream) open(ctx context.Context, s *slot, sp spec) (*link, error) {
	if err := u.opt.dials.Acquire(ctx); err != nil {
		return nil, err
	}
	// A server that hangs does not keep the others from starting.
	release := sync.OnceFunc(u.opt.dials.Release)
	late := time.AfterFunc(dialHold, release)
	l, err := u.connect(ctx, s, sp)
	late.Stop()
	release()
	if err != nil {
		return nil, err
	}
	if err := l.loadFeatures(ctx); err != nil {
		l.close(ctx)
		return nil, err
	}
	l.resubscribe(ctx)
	if c := s.owner(); c != nil && l.era == mcp.Legacy {
		if err := l.setLevel(ctx, c.LogLevel); err != nil {
			u.log.Debug("setting the level again", "err", err)
		}
	}
	l.startListening()
	return l, nil
}

// connect opens the transport and shakes hands.
func (u *Upstream) connect(ctx context.Context, s *slot, sp spec) (*link, error) {
	if u.opt.Lock != nil && u.Config().Transport() != config.TypeStdio {
		if err := u.opt.Lock.Hold(ctx, u.Config(), nil); err != nil {
			return nil, err
		}
	}
	switch u.Config().Transport() {
	case config.TypeStdio:
		if o := (once{u}); o.on() {
			return o.connect(ctx, s, sp)
		}
		return u.connectStdio(ctx, s, sp)
	case config.TypeSSE:
		return u.connectSSE(ctx, s, sp)
	}
	l, err := u.connectHTTP(ctx, s, sp)
	if err != nil && u.Config().Type == config.TypeAuto && failure.FallsBackToSSE(err) {
		return u.connectSSE(ctx, s, sp)
	}
	return l, err
}

func (u *Upstream) newLink(s *slot, sp spec) *link {
	l := &link{up: u, slot: s, offer: sp.hello.Offer, done: make(chan struct{}), spot: sp.spot}
	l.refresh.Fetch = l.reload
	l.calls = inflight.New(l, &u.calls)
	return l
}

func (u *Upstream) connOptions(l *link) jsonrpc.ConnOptions {
	return jsonrpc.ConnOptions{
		Handler:      l,
		CancelMethod: mcp.NotificationCancelled,
		MaxInFlight:  u.limits.InFlightPerSession,
		OnDropped:    func(reason string, head []byte) { u.dropped(reason, head) },
	}
}

func (u *Upstream) connectStdio(ctx context.Context, s *slot, sp spec) (*link, error) {
	l := u.newLink(s, sp)
	cmd := u.command()
	if sp.spot != nil {
		cmd.Env = append(cmd.Env, fencingToken+"="+strconv.FormatUint(sp.spot.Epoch, 10))
	}
	if u.opt.Lock != nil {
		if err := u.opt.Lock.Hold(ctx, u.Config(), &cmd); err != nil {
			return nil, err
		}
	}
	child, err := u.opt.Launcher.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	if s == u.primary {
		u.keepStderr(child.Stderr())
	}
	stream := newWatched(child.Stream())
	conn := jsonrpc.NewConn(stream, u.connOptions(l))
	l.peer, l.child = conn, child
	l.closer = func(ctx context.Context) {
		child.Stop(ctx)
		conn.Close()
	}
	u.watch(l, conn, stream)
	// The process starts while the client is waited for.
	if err = u.await(ctx, &sp); err == nil {
		err = u.handshake(ctx, l, sp)
	}
	if err == nil {
		return l, nil
	}
	exited := l.endedWith(err)
	l.close(ctx)
	if sp.probe && l.era == mcp.Modern && sp.era == mcp.Modern && (exited || errors.Is(err, failure.ErrSlow)) && ctx.Err() == nil {
		// Some servers exit when the first message is not initialize, others
		// never answer it. What was sent down that pipe cannot be taken back.
		sp.era = mcp.Legacy
		l, err := u.connectStdio(ctx, s, sp)
		if err == nil && l.era == mcp.Legacy {
			once{u}.learn(memory.Legacy)
		}
		return l, err
	}
	return nil, l.explainExit(err)
}

func (u *Upstream) connectSSE(ctx context.Context, s *slot, sp spec) (*link, error) {
	if err := u.await(ctx, &sp); err != nil {
		return nil, err
	}
	l := u.newLink(s, sp)
	stream, err := httpclient.DialSSE(ctx, u.clientOptions(l, mcp.Legacy))
	if err != nil {
		return nil, err
	}
	watched := newWatched(stream)
	conn := jsonrpc.NewConn(watched, u.connOptions(l))
	l.peer = conn
	l.closer = func(context.Context) { conn.Close() }
	u.watch(l, conn, watched)
	sp.probe, sp.era = false, mcp.Legacy
	if err := u.handshake(ctx, l, sp); err != nil {
		l.close(ctx)
		return nil, err
	}
	return l, nil
}

// connectHTTP opens the conversation in the era that the spec prefers; where
// it may, it finds out first which eras the server speaks.
func (u *Upstream) connectHTTP(ctx context.Context, s *slot, sp spec) (*link, error) {
	if err := u.await(ctx, &sp); err != nil {
		return nil, err
	}
	if sp.probe && (once{u}).eras() == memory.Unknown {
		l, err := u.findEras(ctx, s, sp)
		if l != nil || err != nil {
			return l, err
		}
		sp.era = mcp.Legacy
	}
	l, err := u.connectHTTPEra(ctx, s, sp, sp.era)
	if err == nil || !sp.probe || !failure.AnswersOtherEra(err) {
		return l, err
	}
	l, again := u.connectHTTPEra(ctx, s, sp, otherEra(sp.era))
	if again != nil && !failure.FallsBackToSSE(again) {
		// What the preferred era said is the better explanation.
		return nil, err
	}
	return l, again
}

func (u *Upstream) connectHTTPEra(ctx context.Context, s *slot, sp spec, era mcp.Era) (*link, error) {
	l := u.newLink(s, sp)
	client := httpclient.NewClient(u.clientOptions(l, era))
	l.peer = client
	l.closer = func(ctx context.Context) { client.Close(ctx) }
	sp.era, sp.probe = era, false
	if err := u.handshake(ctx, l, sp); err != nil {
		l.close(context.WithoutCancel(ctx))
		return nil, err
	}
	if era == mcp.Legacy {
		client.OpenStream(u.life)
		client.AwaitStream(ctx, streamWait)
	}
	return l, nil
}

// streamWait is how long a server may take to open the stream on which it
// speaks outside any call.
const streamWait = 100 * time.Millisecond

func (u *Upstream) clientOptions(l *link, era mcp.Era) httpclient.ClientOptions {
	headers := func(tool string, arguments []byte) http.Header {
		return modern.ParamHeaders(l.slot.features.Load(), tool, arguments)
	}
	if l.there() {
		return httpclient.ClientOptions{
			URL: l.spot.URL, Header: make(http.Header), Transport: l.spot.Transport, Handler: l, Modern: era == mcp.Modern,
			MaxMessage: u.limits.ServerMessage, Log: u.log, ParamHeaders: headers, OnDown: l.finish,
		}
	}
	header := make(http.Header)
	for name, value := range u.Config().Headers {
		header.Set(name, value.Reveal())
	}
	return httpclient.ClientOptions{
		URL: u.Config().URL, Header: header, Transport: u.roundTripper(l.slot), Handler: l, Modern: era == mcp.Modern,
		MaxMessage: u.limits.ServerMessage, Log: u.log,
		ParamHeaders: headers, OnDown: l.finish,
	}
}
