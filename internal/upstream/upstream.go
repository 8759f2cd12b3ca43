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
	"mcp-all-in-one/internal/sandbox"
	"mcp-all-in-one/internal/secrets"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/inflight"
	"mcp-all-in-one/internal/upstream/memory"
	"mcp-all-in-one/internal/upstream/pin"
	"mcp-all-in-one/internal/upstream/queue"
)

// Options are what all upstreams of a Set have in common.
type Options struct {
	Launcher  *stdio.Launcher
	Transport http.RoundTripper // for servers over HTTP; nil is the default
	// Tokens are for servers over HTTP that somebody signed in to; nil
	// for none.
	Tokens *oauth.Keeper
	// Values are what users bring along for servers; nil for none.
	Values *secrets.Values
	Log    *slog.Logger
	Limits *config.Limits
	// Hits count the limits that were reached; nil counts none.
	Hits *config.Hits
	// Info is the clientInfo that we show on shared connections, raw.
	Info []byte
	// Roots are the configured ones.
	Roots func() []config.Root
	// Memory remembers what was learnt about servers.
	Memory *memory.Memory
	// Pins remember the definitions of tools; nil remembers none.
	Pins *pin.Store
	// Lock holds servers to what was locked; nil holds none.
	Lock Lock
	// Greeting is set where there is one client only, on stdio.
	Greeting *Greeting
	// Person answers a question that no client can be asked; nil, and a nil
	// answer, mean that nobody is there.
	Person func(ctx context.Context, server string, req *jsonrpc.Request) *jsonrpc.Response
	// Placer says where servers run that run once in a cluster; nil where there
	// is none.
	Placer Placer
	// OnChange hears that what an upstream offers, or its state, changed.
	OnChange func(u *Upstream)
	// OnLine hears each line that a server writes to its standard error; nil for
	// nobody.
	OnLine func(server, line string)

	dials queue.Semaphore
}

// A Lock says what servers may run and show.
type Lock interface {
	// Hold makes a command what was locked, or says why the server does not
	// start. cmd is nil for a server over HTTP.
	Hold(ctx context.Context, s *config.Server, cmd *stdio.Command) error
	pin.Lock
}

// An entry is a server as it is configured, and what all that belongs to it shares.
type entry struct {
	name   string
	schema string
	hash   string
	opt    *Options
	limits *config.Limits
	log    *slog.Logger

	config   atomic.Pointer[config.Server] // policy may change while it runs
	carrier  http.RoundTripper             // nil without Tokens
	report   failure.Reporter
	changed  func()        // what it offers, or its state, changed
	standing atomic.Uint64 // see Standing

	life       context.Context
	kill       context.CancelFunc
	background sync.WaitGroup
}

// connections are those of one server: the primary one, which a supervisor keeps
// up, and those that clients need beside it.
type connections struct {
	entry
	condition
	observed

	primary *slot
	slots   slots
	wake    chan struct{} // a person asked for a restart
	greeted atomic.Bool   // it was up once
	probing sync.Mutex
	tasks   atomic.Bool // a connection of it declared tasks

	calls  inflight.Server
	pins   *pin.Checker
	learnt atomic.Pointer[catalog.Features] // from users with values of their own
}

// An Upstream is one configured server of one schema.
type Upstream struct {
	connections
	supervisor supervisor
	queue      *queue.Queue
}

func newUpstream(life context.Context, cfg *config.Server, opt *Options) *Upstream {
	u := &Upstream{
		connections: connections{
			entry: entry{
				name: cfg.Name, schema: cfg.Schema, hash: cfg.Hash(), opt: opt, limits: opt.Limits,
				log: opt.Log.With("upstream", cfg.Name), carrier: newCarrier(opt),
			},
			condition: condition{since: time.Now(), settled: make(chan struct{}), moved: make(chan struct{})},
			observed:  observed{counts: make(map[string]int64)},
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
	u.condition.entry, u.observed.entry = &u.entry, &u.entry
	u.calls = inflight.Server{Limits: opt.Limits, Hits: opt.Hits, Count: u.count}
	u.pins = pin.New(opt.Pins, cfg.ID(), opt.Lock)
	u.primary = &slot{up: &u.connections, exclusive: opt.Greeting != nil, exact: u.byOffer()}
	if opt.Greeting != nil && len(cfg.PerUser) > 0 {
		u.primary.user = opt.Greeting.user
	}
	return u
}

// Name is the name in the configuration.
func (e *entry) Name() string { return e.name }

// Config is the entry in the configuration.
func (e *entry) Config() *config.Server { return e.config.Load() }

// command is the process for one connection, with the values of its user.
func (u *connections) command(values map[string]string) stdio.Command {
	cfg := u.Config()
	own := make(map[string]string, len(cfg.Env)+len(values))
	for k, v := range cfg.EnvironmentFor(values) {
		own[k] = v.Reveal()
	}
	env, withheld := stdio.Environ(os.Environ(), stdio.Inherit{All: cfg.InheritEnv.All, Names: cfg.InheritEnv.Names}, own)
	if len(values) == 0 {
		env = cfg.WithoutUserValues(env)
	}
	u.noteWithheld(withheld)
	cmd := stdio.Command{Name: u.name, Path: cfg.Command, Args: cfg.Args, Env: env, Dir: cfg.Cwd, MaxLine: u.limits.ServerMessage}
	if cfg.Sandbox.On {
		cmd.Sandbox = &sandbox.Server{ID: cfg.ID(), Rules: cfg.Sandbox, Cwd: cfg.Cwd}
	}
	return cmd
}

// idleFor is how long a call may be silent.
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

// Features are what the server offers to c; nil when nothing is known.
func (u *Upstream) Features(c *Caller) *catalog.Features {
	if c != nil {
		for _, s := range [...]*slot{u.openModern(c), u.slotOf(c)} {
			if s == nil || s.project != nil {
				continue // a project changes what a server does, not what it offers
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

// Policy is what the configuration says about showing the server's features.
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
