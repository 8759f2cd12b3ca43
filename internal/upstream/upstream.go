// Package upstream keeps the configured servers connected and calls them.
//
// An Upstream is one configured server of one schema. It opens, watches and reopens its
// connections, decides which clients share a connection, and ends every call exactly once.
// The package does not decide what clients see: its callers handle names, filters and
// dialects.
//
// Terms: a question is a request that a server sends to a client (sampling, elicitation,
// roots); a server that sends one asks. An offer is what a client declares in its
// capabilities: the questions that it can answer, and extensions.
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
	"mcp-all-in-one/internal/sandbox"
	"mcp-all-in-one/internal/secrets"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/inflight"
	"mcp-all-in-one/internal/upstream/memory"
	"mcp-all-in-one/internal/upstream/observed"
	"mcp-all-in-one/internal/upstream/pin"
	"mcp-all-in-one/internal/upstream/queue"
)

// Options are common to all upstreams.
type Options struct {
	Launcher  *stdio.Launcher
	Transport http.RoundTripper // for servers over HTTP; nil is the default
	// Tokens are for servers over HTTP that require a sign-in; nil for none.
	Tokens *oauth.Keeper
	// Values are the per-user values for servers; nil for none.
	Values *secrets.Values
	Log    *slog.Logger
	Limits *config.Limits
	// Hits counts how often limits were reached; nil counts nothing.
	Hits *config.Hits
	// Info is the raw clientInfo of the gateway, which shared connections send.
	Info []byte
	// Roots returns the configured roots.
	Roots func() []config.Root
	// Memory remembers the properties of servers across connections.
	Memory *memory.Memory
	// Pins remembers the definitions of tools; nil remembers none.
	Pins *pin.Store
	// Lock restricts servers to their locked state; nil restricts none.
	Lock Lock
	// Greeting is set if there is only one client, on stdio.
	Greeting *Greeting
	// Person asks a person a question that no client can answer. If Person or its answer is
	// nil, the question is refused.
	Person func(ctx context.Context, server string, req *jsonrpc.Request) *jsonrpc.Response
	// Placer decides on which replica a server runs, if the cluster runs one process
	// of it; nil if there is no cluster.
	Placer Placer
	// OnChange is called after the features or the state of an upstream changed.
	OnChange func(u *Upstream)
	// OnLine is called with each line that a server writes to its standard error. It must
	// not block, and may be nil.
	OnLine func(server, line string)
	// Dials limits how many servers are dialed at the same time.
	Dials queue.Semaphore
}

// A Lock restricts what servers may run and show.
type Lock interface {
	// Hold replaces the command by the locked one, or returns why the server must not
	// start. cmd is nil for a server over HTTP.
	Hold(ctx context.Context, s *config.Server, cmd *stdio.Command) error
	pin.Lock
}

// An entry is a configured server, with the state that all its parts share.
type entry struct {
	name   string
	schema string
	hash   string
	opt    *Options
	limits *config.Limits
	log    *slog.Logger

	config   atomic.Pointer[config.Server] // its policy may change at run time
	carrier  http.RoundTripper             // nil without Tokens
	report   failure.Reporter
	changed  func()        // to be called after the features or the state changed
	standing atomic.Uint64 // see Standing

	life       context.Context
	kill       context.CancelFunc
	background sync.WaitGroup
}

// connections holds the connections of one server: the primary one, which a supervisor
// keeps open, and those that clients need in addition.
type connections struct {
	entry
	condition
	observed observed.Record

	primary *slot
	slots   slots
	wake    chan struct{} // a restart was requested
	greeted atomic.Bool   // it has been up at least once
	probing sync.Mutex
	probed  context.Context // of the probe of its eras that is under way
	tasks   atomic.Bool     // some connection has declared tasks

	calls  inflight.Server
	pins   *pin.Checker
	learnt atomic.Pointer[catalog.Features] // from the connections of users with their own values
}

// An Upstream is one configured server of one schema.
type Upstream struct {
	connections
	supervisor supervisor
	queue      *queue.Queue
}

// Start returns the upstream of a server and connects it, if the server may run. The
// upstream stops when life ends.
func Start(life context.Context, cfg *config.Server, opt *Options) *Upstream {
	u := &Upstream{
		connections: connections{
			entry: entry{
				name: cfg.Name, schema: cfg.Schema, hash: cfg.Hash(), opt: opt, limits: opt.Limits,
				log: opt.Log.With("upstream", cfg.Name), carrier: newCarrier(opt),
			},
			condition: condition{since: time.Now(), settled: make(chan struct{}), moved: make(chan struct{})},
			wake:      make(chan struct{}, 1),
			slots:     slots{byKey: make(map[string]*slot), leases: make(map[string][]*slot)},
		},
		queue: queue.New(cfg.Name, opt.Limits, opt.Hits),
	}
	u.supervisor.connections = &u.connections
	u.config.Store(cfg)
	restand(&u.entry)
	u.changed = func() {
		restand(&u.entry)
		if opt.OnChange != nil {
			opt.OnChange(u)
		}
	}
	u.life, u.kill = context.WithCancel(life)
	u.report = failure.Reporter{Name: cfg.Name, Config: u.Config, Limits: opt.Limits, Hits: opt.Hits, Log: u.log}
	u.condition.entry = &u.entry
	u.observed.Server, u.observed.Log, u.observed.OnLine = cfg.Name, u.log, opt.OnLine
	u.calls = inflight.Server{Limits: opt.Limits, Hits: opt.Hits, Count: u.observed.Count, Flow: inflight.NewFlow()}
	u.pins = pin.New(opt.Pins, cfg.ID(), opt.Lock)
	u.primary = &slot{up: &u.connections, exclusive: opt.Greeting != nil, exact: u.byOffer()}
	if opt.Greeting != nil && len(cfg.PerUser) > 0 {
		u.primary.user = opt.Greeting.user
	}
	switch {
	case !cfg.Enabled:
		u.setState(Disabled, nil)
	case cfg.Pending:
		u.setState(Pending, nil)
	case len(cfg.Missing) > 0:
		u.setState(Unconfigured, &failure.MissingError{Names: cfg.Missing})
	default:
		u.state = Starting
		u.background.Go(u.supervisor.run)
	}
	return u
}

// Adopt makes u follow a new configuration of its server. It returns false if u must be
// replaced instead, because the connection itself has changed.
func (u *Upstream) Adopt(cfg *config.Server) bool {
	if u.hash != cfg.Hash() || u.Config().Runnable() != cfg.Runnable() {
		return false
	}
	u.config.Store(cfg)
	restand(&u.entry)
	u.Repin()
	return true
}

// Close ends every connection and waits until all goroutines and processes of u have ended.
// With drain it first waits, up to drain or the end of ctx, for the calls in flight.
func (u *Upstream) Close(ctx context.Context, drain time.Duration) {
	if drain > 0 {
		idle, cancel := context.WithTimeout(ctx, drain)
		u.queue.Idle(idle)
		cancel()
		ctx = context.WithoutCancel(ctx)
	}
	u.kill()
	u.supervisor.endGrace()
	var wg sync.WaitGroup
	for _, s := range append(u.slots.all(), u.primary) {
		wg.Go(func() { s.close(ctx) })
	}
	wg.Wait()
	u.background.Wait()
	if l := u.primary.link.Load(); l != nil {
		l.close(ctx)
	}
	if c, ok := u.carrier.(interface{ CloseIdleConnections() }); ok && u.opt.Transport == nil {
		c.CloseIdleConnections()
	}
	u.setState(Stopped, errStopped)
}

// Name returns the name in the configuration.
func (e *entry) Name() string { return e.name }

// Config returns the configuration of the server.
func (e *entry) Config() *config.Server { return e.config.Load() }

func (u *connections) command(values map[string]string) stdio.Command {
	cfg := u.Config()
	own := make(map[string]string, len(cfg.Env)+len(values))
	for k, v := range cfg.EnvironmentFor(values) {
		own[k] = v.Reveal()
	}
	env, withheld := stdio.Environ(os.Environ(), cfg.Command, stdio.Inherit{All: cfg.InheritEnv.All, Names: cfg.InheritEnv.Names}, own)
	if len(values) == 0 {
		env = cfg.WithoutUserValues(env)
	}
	u.observed.Withhold(withheld)
	cmd := stdio.Command{Name: u.name, Path: cfg.Command, Args: cfg.Args, Env: env, Dir: cfg.Cwd, MaxLine: u.limits.ServerMessage}
	if cfg.Sandbox.On {
		cmd.Sandbox = &sandbox.Server{ID: cfg.ID(), Place: cfg.FolderID(), Rules: cfg.Sandbox, Cwd: cfg.Cwd}
	}
	return cmd
}

// idleFor returns how long a call may be idle before it times out.
func (e *entry) idleFor(req *jsonrpc.Request) time.Duration {
	cfg := e.Config()
	if req.Method == mcp.MethodToolsCall && len(cfg.Tools) > 0 {
		name, _ := jsonrpc.GetString(req.Params, "name")
		if p, ok := cfg.Tools[name]; ok && p.Timeout > 0 {
			return p.Timeout
		}
	}
	if cfg.Timeout > 0 {
		return cfg.Timeout
	}
	return e.limits.CallIdle
}

// Features returns the features that the server offers to c; nil if they are not known.
func (u *Upstream) Features(c *Caller) *catalog.Features {
	if c != nil {
		for _, s := range [...]*slot{u.openModern(c), u.slotOf(c)} {
			if s == nil || s.project != nil {
				continue // a project changes what a server does, not what it lists
			}
			if f := s.features.Load(); f != nil {
				return f
			}
		}
	}
	if f := u.primary.features.Load(); f != nil {
		return f
	}
	return u.learnt.Load()
}

// Notify sends a notification on behalf of c if c has its own connection. On a shared
// connection no client may speak for the others.
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

// Policy returns the configured rules for showing the server's features.
func (e *entry) Policy() catalog.Policy {
	cfg := e.Config()
	tools := catalog.Rules{Allow: cfg.Allow, Deny: cfg.Deny, Items: make(map[string]catalog.Override)}
	for name, p := range cfg.Tools {
		o := catalog.Override{Enabled: p.Enabled, Rename: p.Rename, Description: p.Description, Arguments: make(map[string]catalog.Argument)}
		for argument, a := range p.Arguments {
			o.Arguments[argument] = catalog.Argument{Hidden: a.Ours(), Default: a.Default}
		}
		tools.Items[name] = o
	}
	return catalog.Policy{Tools: tools, Prompts: itemRules(cfg.Prompts), Resources: itemRules(cfg.Resources)}
}

func itemRules(set map[string]config.Policy) catalog.Rules {
	rules := catalog.Rules{Items: make(map[string]catalog.Override)}
	for name, p := range set {
		rules.Items[name] = catalog.Override{Enabled: p.Enabled}
	}
	return rules
}
