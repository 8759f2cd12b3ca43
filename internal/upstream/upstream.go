// Package upstream keeps the configured servers connected and calls them.
//
// An Upstream is one configured server of one schema: it opens, greets,
// watches and reopens its connections, decides which client shares which, and
// ends every call exactly once. A Set is all of them, reconciled to the
// configuration. The package does not know what clients are shown: names,
// filters and dialects are its callers' business.
package upstream

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/stdio"
)

// Options are what all upstreams of a Set have in common.
type Options struct {
	Launcher  *stdio.Launcher
	Transport http.RoundTripper // for servers over HTTP; nil is the default
	// Tokens are those of servers over HTTP that somebody signed in to; nil
	// for none.
	Tokens *oauth.Keeper
	Log    *slog.Logger
	Limits *config.Limits
	// Hits count the limits that were reached; nil counts none.
	Hits *config.Hits
	// Info is the clientInfo that we show on shared connections, raw.
	Info []byte
	// Roots are the configured ones.
	Roots func() []config.Root
	// Memory remembers what was learnt about servers.
	Memory *Memory
	// Pins remember the definitions of tools; nil remembers none.
	Pins *Pins
	// Greeting is set where there is one client only, on stdio.
	Greeting *Greeting
	// Person answers a question that no client can be asked; nil, and a nil
	// answer, mean that nobody is there.
	Person func(ctx context.Context, server string, req *jsonrpc.Request) *jsonrpc.Response
	// OnChange hears that what an upstream offers, or its state, changed.
	OnChange func(u *Upstream)

	dials semaphore
}

// An Upstream is one configured server of one schema.
type Upstream struct {
	name   string
	schema string
	hash   string
	opt    *Options
	limits *config.Limits
	log    *slog.Logger

	config  atomic.Pointer[config.Server] // policy may change while it runs
	carrier http.RoundTripper             // nil without Tokens

	life       context.Context
	kill       context.CancelFunc
	background sync.WaitGroup
	primary    *slot
	wake       chan struct{} // a person asked for a restart
	greeted    atomic.Bool   // it was up once
	probing    sync.Mutex

	mu       sync.Mutex
	slots    map[string]*slot // all but the primary one
	leases   map[string][]*slot
	state    State
	reason   error
	since    time.Time
	settled  chan struct{} // closed when it has answered or failed once
	moved    chan struct{} // closed and replaced at every change of state
	restarts int
	lastDown string // what the log said last; only supervise uses it
	stderr   *stdio.Tail
	grace    *time.Timer // ends what a server that is down still has listed
	counts   map[string]int64

	flow     flow
	queued   atomic.Int64
	running  atomic.Int64
	places   semaphore
	messages messageRing
	withheld []string
	pins     pinner
	issues   map[string][]catalog.Issue
}

func newUpstream(life context.Context, cfg *config.Server, opt *Options) *Upstream {
	u := &Upstream{
		name: cfg.Name, schema: cfg.Schema, hash: cfg.Hash(), opt: opt, limits: opt.Limits,
		log:     opt.Log.With("upstream", cfg.Name),
		wake:    make(chan struct{}, 1),
		slots:   make(map[string]*slot),
		leases:  make(map[string][]*slot),
		since:   time.Now(),
		settled: make(chan struct{}),
		moved:   make(chan struct{}),
		counts:  make(map[string]int64),
		places:  newSemaphore(opt.Limits.InFlightPerServer),
	}
	u.config.Store(cfg)
	u.carrier = newCarrier(opt)
	u.pins.pins, u.pins.id = opt.Pins, cfg.ID()
	u.life, u.kill = context.WithCancel(life)
	u.primary = &slot{up: u, exclusive: opt.Greeting != nil}
	return u
}

// Name is the name in the configuration.
func (u *Upstream) Name() string { return u.name }

// Config is the entry in the configuration.
func (u *Upstream) Config() *config.Server { return u.config.Load() }

func (u *Upstream) server() *config.Server { return u.config.Load() }

func (u *Upstream) command() stdio.Command {
	cfg := u.server()
	own := make(map[string]string, len(cfg.Env))
	for k, v := range cfg.Env {
		own[k] = v.Reveal()
	}
	env, withheld := stdio.Environ(os.Environ(), stdio.Inherit{All: cfg.InheritEnv.All, Names: cfg.InheritEnv.Names}, own)
	u.noteWithheld(withheld)
	return stdio.Command{Name: u.name, Path: cfg.Command, Args: cfg.Args, Env: env, Dir: cfg.Cwd, MaxLine: u.limits.ServerMessage}
}

// idleFor is how long a call may be silent.
func (u *Upstream) idleFor(req *jsonrpc.Request) time.Duration {
	cfg := u.server()
	if req.Method == mcp.MethodToolsCall && len(cfg.Tools) > 0 {
		name, _ := jsonrpc.GetString(req.Params, "name")
		if p, ok := cfg.Tools[name]; ok && p.Timeout > 0 {
			return p.Timeout
		}
	}
	if cfg.Timeout > 0 {
		return cfg.Timeout
	}
	return u.limits.CallIdle
}

// Features are what the server offers to c; nil when nothing is known.
func (u *Upstream) Features(c *Caller) *catalog.Features {
	if c != nil {
		if s := u.slotOf(c); s != nil {
			if f := s.features.Load(); f != nil {
				return f
			}
		}
	}
	return u.primary.features.Load()
}

// Call asks the server on behalf of c. It ends exactly once: with the server's
// answer, or with one error of ours that says what happened.
func (u *Upstream) Call(ctx context.Context, c *Caller, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if err := u.enter(ctx); err != nil {
		return nil, err
	}
	defer u.leave()
	return u.call(ctx, c, req, func() (*jsonrpc.Response, error, bool) { return u.try(ctx, c, req) })
}

// call is Call for somebody who has a place, with the outcome of the first try.
func (u *Upstream) call(ctx context.Context, c *Caller, req *jsonrpc.Request, first func() (*jsonrpc.Response, error, bool)) (*jsonrpc.Response, error) {
	resp, err, ran := first()
	if err != nil && !ran && isRefusal(err) {
		// The server said that it did not run, so sending it once more is not
		// a second run.
		if resp, err, ran = u.try(ctx, c, req); err != nil && !ran && isRefusal(err) {
			err = u.failure(ctx, nil, err)
		}
	}
	return resp, err
}

// try sends the request once. ran is false when the request provably did not
// reach the server's code.
func (u *Upstream) try(ctx context.Context, c *Caller, req *jsonrpc.Request) (resp *jsonrpc.Response, err error, ran bool) {
	l, release, err := u.acquire(ctx, c, req.Method)
	if err != nil {
		return nil, err, false
	}
	defer release()
	resp, err = l.call(ctx, c, req)
	return u.verdict(ctx, l, resp, err)
}

// verdict says what the outcome on a connection means. ran is as for try.
func (u *Upstream) verdict(ctx context.Context, l *link, answer *jsonrpc.Response, failed error) (resp *jsonrpc.Response, err error, ran bool) {
	resp, err = answer, failed
	if err == nil && resp.Err != nil && l.era == mcp.Modern && resp.Err.Code == mcp.CodeVersionUnsupported {
		// It was replaced by one that speaks other versions: greet it anew.
		u.opt.Memory.setEras(u.hash, erasUnknown)
		err = &lost{resp.Err}
		l.refused(ctx, err)
		return nil, err, false
	}
	if err == nil {
		return resp, nil, true
	}
	if lost := refusal(err); lost != nil {
		l.refused(ctx, lost)
		return nil, lost, false
	}
	if statusOf(err) == http.StatusUnauthorized {
		l.finish(err) // whoever comes next learns it from the state
	}
	return nil, u.failure(ctx, l, err), true
}

// call sends one request over this connection.
func (l *link) call(ctx context.Context, c *Caller, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	ctx, k, params := l.begin(ctx, c, req)
	defer l.end(k)
	bridged := false
	switch {
	case l.era == mcp.Modern && c.Era == mcp.Legacy:
		params, bridged = l.withMeta(params, c), true
	case l.era == mcp.Legacy && c.Era == mcp.Modern:
		params = withoutMeta(params)
		if err := l.setLevel(ctx, c.LogLevel); err != nil {
			return nil, err
		}
	}
	k.sent = jsonrpc.Request{Method: req.Method, Params: params, Back: k}
	resp, err := l.send(ctx, &k.sent)
	if err == nil && bridged {
		resp, err = l.rounds(ctx, k, req.Method, params, resp)
	}
	if k.token != 0 {
		k.progress.finish(func(n *jsonrpc.Notification) { k.back.HandleNotification(ctx, l.peer, n) })
	}
	return resp, cause(ctx, err)
}

// send sends a request; an answer is an answer whatever HTTP status it came
// with, unless it says that the request did not run.
func (l *link) send(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return l.answered(l.ours(ctx, req))
}

// answered is what send makes of the outcome.
func (l *link) answered(resp *jsonrpc.Response, err error) (*jsonrpc.Response, error) {
	if err == nil || resp == nil || resp.Err == nil {
		return resp, err
	}
	if l.era == mcp.Modern && resp.Err.Code == mcp.CodeHeaderMismatch {
		// The tool's schema changed: its headers must be made anew.
		l.refresh.mark(kindTools)
	}
	if refusal(err) != nil && !(l.era == mcp.Modern && statusOf(err) == http.StatusNotFound) || isAuth(err) {
		return nil, err
	}
	return resp, nil
}

// ours sends a request, once more when the server refuses our version of the
// modern era and yet names it among those that it speaks.
func (l *link) ours(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	resp, err := l.peer.Call(ctx, req)
	if l.era != mcp.Modern || resp == nil || resp.Err == nil || resp.Err.Code != mcp.CodeVersionUnsupported {
		return resp, err
	}
	for v := range jsonrpc.Elements(jsonrpc.Get(resp.Err.Data, "supported")) {
		if s, _ := unquote(v); s == mcp.LatestModern {
			return l.peer.Call(ctx, req)
		}
	}
	return resp, err
}

// Notify tells the server something on behalf of c, where c has a connection
// of its own: on a shared one nobody speaks for everybody.
func (u *Upstream) Notify(ctx context.Context, c *Caller, n *jsonrpc.Notification) error {
	s := u.slotOf(c)
	if s == nil || !s.exclusive {
		return nil
	}
	l := s.current()
	if l == nil || l.era == mcp.Modern {
		return nil
	}
	return l.peer.Notify(ctx, n)
}
