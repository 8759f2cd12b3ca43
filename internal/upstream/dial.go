package upstream

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/greet"
	"mcp-all-in-one/internal/upstream/inflight"
	"mcp-all-in-one/internal/upstream/lists"
	"mcp-all-in-one/internal/upstream/memory"
	"mcp-all-in-one/internal/upstream/modern"
	"mcp-all-in-one/internal/upstream/project"
	"mcp-all-in-one/internal/upstream/stored"
	"mcp-all-in-one/internal/upstream/watch"
)

// A spec says how a connection is to be opened.
type spec struct {
	era   mcp.Era
	probe bool // the era is not known and must be probed
	hello greet.Hello
	// greeting, if set, is awaited before the handshake. It holds what the only client
	// offers.
	greeting *Greeting
	// spot is the place of the server, if it runs once in a cluster.
	spot *Spot
}

// A dialer opens a connection for a slot.
type dialer struct {
	up   *connections
	slot *slot
	spec spec
	// values are the per-user values of the user of the slot.
	values map[string]string
}

// dialHold is how long one server occupies a place among the concurrent dials.
const dialHold = 2 * time.Second

var errStopped = i18n.Errorf("the server was stopped", "服务器已停止")

// open makes the connection: transport, handshake, lists, subscriptions.
func (d dialer) open(ctx context.Context) (_ *link, err error) {
	u := d.up
	if err := u.opt.Dials.Acquire(ctx); err != nil {
		return nil, err
	}
	defer func() { err = personal{u}.refused(d.slot, err) }()
	// A server that hangs must not keep the others from starting.
	release := sync.OnceFunc(u.opt.Dials.Release)
	late := time.AfterFunc(dialHold, release)
	l, err := d.connect(ctx)
	late.Stop()
	release()
	if err != nil {
		return nil, err
	}
	if err := l.loadFeatures(ctx); err != nil {
		l.close(ctx)
		return nil, leftBy(l, err)
	}
	l.resubscribe(ctx)
	if c := d.slot.owner(); c != nil && l.era == mcp.Legacy {
		if err := l.setLevel(ctx, c.LogLevel()); err != nil {
			u.log.Debug("setting the level again", "err", err)
		}
	}
	l.startListening()
	return l, nil
}

// connect opens the transport and performs the handshake.
func (d dialer) connect(ctx context.Context) (*link, error) {
	u := d.up
	var err error
	if d.values, err = (personal{u}).valuesFor(d.slot); err != nil {
		return nil, err
	}
	if u.opt.Lock != nil && u.Config().Transport() != config.TypeStdio {
		if err := u.opt.Lock.Hold(ctx, u.Config(), nil); err != nil {
			return nil, err
		}
	}
	switch u.Config().Transport() {
	case config.TypeStdio:
		if (once{u}).on() {
			return d.connectOnce(ctx)
		}
		return d.connectStdio(ctx)
	case config.TypeSSE, config.TypeScripts:
		return d.connectSSE(ctx)
	}
	l, err := d.connectHTTP(ctx)
	if err != nil && u.Config().Type == config.TypeAuto && failure.FallsBackToSSE(err) {
		return d.connectSSE(ctx)
	}
	return l, err
}

func (d dialer) newLink() *link {
	l := &link{
		ending: ending{entry: &d.up.entry, done: make(chan struct{}), values: d.values},
		up:     d.up, slot: d.slot, offer: d.spec.hello.Offer, spot: d.spec.spot,
	}
	l.refresh = lists.NewRefresher(l.reload)
	l.calls = inflight.New(l, &d.up.calls)
	return l
}

func (d dialer) connOptions(l *link) duplex.ConnOptions {
	return duplex.ConnOptions{
		Handler:      l,
		CancelMethod: mcp.NotificationCancelled,
		MaxInFlight:  d.up.limits.InFlightPerSession,
		Batch:        func() bool { return true }, // servers of 2025-03-26 send them
		OnDropped:    d.up.observed.Drop,
		OnLate:       l.calls.AnsweredLate,
	}
}

func (d dialer) connectStdio(ctx context.Context) (*link, error) {
	u, l := d.up, d.newLink()
	cmd := u.command(d.values)
	startIn(&cmd, d.slot.project, u.Config())
	if d.spec.spot != nil {
		cmd.Env = append(cmd.Env, fencingToken+"="+strconv.FormatUint(d.spec.spot.Epoch, 10))
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
	if d.slot == u.primary || d.values == nil { // no log shows what a user's values may be in
		u.observed.Hear(child.Stderr())
	}
	stream := watch.New(child.Stream())
	conn := duplex.NewConn(stream, d.connOptions(l))
	l.peer, l.child = conn, child
	l.closer = func(ctx context.Context) {
		child.Stop(ctx)
		conn.Close()
	}
	l.watch(conn, stream)
	// The process starts while we wait for the client's greeting.
	if err = d.await(ctx); err == nil {
		err = d.handshake(ctx, l)
	}
	if err == nil {
		return l, nil
	}
	exited := l.endedWith(err)
	l.close(ctx)
	if d.spec.probe && l.era == mcp.Modern && d.spec.era == mcp.Modern && (exited || errors.Is(err, failure.ErrSlow)) && ctx.Err() == nil {
		// Some servers exit if the first message is not initialize; others never answer it.
		// The message that was written to the pipe cannot be taken back, so a new process
		// is started.
		d.spec.era = mcp.Legacy
		l, err := d.connectStdio(ctx)
		if err == nil && l.era == mcp.Legacy {
			once{u}.learn(memory.Legacy)
		}
		return l, err
	}
	return nil, l.explainExit(err)
}

// connectSSE opens a legacy conversation over one stream: SSE, or the one to scripts.
func (d dialer) connectSSE(ctx context.Context) (*link, error) {
	if err := d.await(ctx); err != nil {
		return nil, err
	}
	l, stream := d.newLink(), stored.Open(d.up.Config())
	if err := error(nil); stream == nil {
		if stream, err = httpclient.DialSSE(ctx, d.clientOptions(l, mcp.Legacy)); err != nil {
			return nil, err
		}
	}
	watched := watch.New(stream)
	conn := duplex.NewConn(watched, d.connOptions(l))
	l.peer = conn
	l.closer = func(context.Context) { conn.Close() }
	l.watch(conn, watched)
	d.spec.probe, d.spec.era = false, mcp.Legacy
	if err := d.handshake(ctx, l); err != nil {
		l.close(ctx)
		return nil, err
	}
	return l, nil
}

// connectHTTP opens the connection in the era that the spec prefers. If the spec allows
// probing, it first finds out which eras the server speaks.
func (d dialer) connectHTTP(ctx context.Context) (*link, error) {
	if err := d.await(ctx); err != nil {
		return nil, err
	}
	if d.spec.probe && (once{d.up}).eras() == memory.Unknown {
		l, err := d.findEras(ctx)
		if l != nil || err != nil {
			return l, err
		}
		d.spec.era = mcp.Legacy
	}
	l, err := d.connectHTTPEra(ctx, d.spec.era)
	if err == nil || !d.spec.probe || !failure.AnswersOtherEra(err) {
		return l, err
	}
	l, again := d.connectHTTPEra(ctx, otherEra(d.spec.era))
	if again != nil && !failure.FallsBackToSSE(again) {
		// The error of the preferred era is the better explanation.
		return nil, err
	}
	return l, again
}

func (d dialer) connectHTTPEra(ctx context.Context, era mcp.Era) (*link, error) {
	l := d.newLink()
	client := httpclient.NewClient(d.clientOptions(l, era))
	l.peer = client
	l.closer = func(ctx context.Context) { client.Close(ctx) }
	d.spec.era, d.spec.probe = era, false
	if err := d.handshake(ctx, l); err != nil {
		l.close(context.WithoutCancel(ctx))
		return nil, err
	}
	if era == mcp.Legacy {
		client.OpenStream(d.up.life)
		client.AwaitStream(ctx, streamWait)
	}
	return l, nil
}

// streamWait is how long a server may take to open the stream for messages outside any
// call.
const streamWait = 100 * time.Millisecond

func (d dialer) clientOptions(l *link, era mcp.Era) httpclient.ClientOptions {
	u := d.up
	headers := func(tool string, arguments []byte) http.Header {
		return modern.ParamHeaders(l.slot.features.Load(), tool, arguments)
	}
	header := make(http.Header)
	for name, value := range u.Config().Headers {
		header.Set(name, value.Reveal())
	}
	for name, value := range l.values {
		to := u.Config().PerUser[name]
		header.Set(to.Header, to.Prefix+value)
	}
	return httpclient.ClientOptions{
		URL: u.Config().URL, Header: header, Transport: u.roundTripper(l.slot), Handler: l, Modern: era == mcp.Modern,
		MaxMessage: u.limits.ServerMessage, Log: u.log,
		ParamHeaders: headers, OnDown: l.finish,
	}
}

// startIn sets the working directory of a command to the folder of a project, if there is
// one. A cwd in the configuration takes precedence. A confined server keeps its directory:
// it may write to its working directory, and the user has not allowed it to write to this
// one.
func startIn(cmd *stdio.Command, p *project.Project, cfg *config.Server) {
	if p == nil || !cfg.ByProject() || !p.Exists() || cfg.Cwd != "" || cfg.Sandbox.On {
		return
	}
	if filepath.Base(cmd.Path) != cmd.Path {
		// The project folder must not choose the program: a relative path is relative to
		// our own working directory.
		if path, err := filepath.Abs(cmd.Path); err == nil {
			cmd.Path = path
		}
	}
	cmd.Dir = p.Folder
}
