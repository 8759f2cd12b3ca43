// Package gateway makes many servers one.
//
// A Session answers one client: it routes each request to the server that it
// is meant for, carries that server's questions back to the client whose call
// caused them, and translates where the two speak different versions. It
// relays bytes and edits only where the protocol carries names. It knows no
// transport.
package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/answers"
	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway/addresses"
	"mcp-all-in-one/internal/gateway/cache"
	"mcp-all-in-one/internal/gateway/entry"
	"mcp-all-in-one/internal/gateway/listen"
	"mcp-all-in-one/internal/gateway/modern"
	"mcp-all-in-one/internal/gateway/pressure"
	"mcp-all-in-one/internal/gateway/results"
	"mcp-all-in-one/internal/gateway/scripts"
	"mcp-all-in-one/internal/gateway/tasks"
	"mcp-all-in-one/internal/gateway/view"
	"mcp-all-in-one/internal/gateway/visit"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/rate"
	"mcp-all-in-one/internal/receipt"
	"mcp-all-in-one/internal/script"
	"mcp-all-in-one/internal/seal"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/usage"
)

// Options make a Gateway.
type Options struct {
	Set *upstream.Set
	Log *slog.Logger
	// Info is what we call ourselves.
	Info mcp.Implementation
	// Level is the process's own log level, which a client on stdio may set.
	Level *slog.LevelVar
	// Greeting is set where there is one client only, on stdio.
	Greeting *upstream.Greeting
	// Traffic keeps a record of what passes; nil keeps none.
	Traffic *traffic.Recorder
	// Observe hears how each call ended, on either hop; nil hears nothing. It
	// is called on the way of the call and must not block.
	Observe func(*traffic.Observation)
	// Usage counts calls by the day; nil counts nothing.
	Usage *usage.Book
	// Addresses are what clients were given; nil keeps them for as long as the
	// gateway runs.
	Addresses *addresses.File
	// Own are our own tools; nil for none.
	Own *builtin.Set
	// Hits count the limits that were reached; nil counts none.
	Hits *config.Hits
	// Approve puts a call to a person and says whether it may run; nil lets
	// nobody say yes.
	Approve func(context.Context, Approval) traffic.Yes
	// AskValue leads a person to a page where they enter a value that a call lacks.
	AskValue visit.Asker
	// OnClients is called whenever Clients would list others; it must not
	// block. It may be nil.
	OnClients func()
	// Scripts runs scripts; nil lets none run. Results is the folder for
	// results that are kept.
	Scripts *script.Runner
	Results string
	// Seals is what handles are sealed with; nil for keys of this process. Owner
	// is what handles call this process; empty where there is no other.
	Seals *seal.Ring
	Owner string
	// Exit is called when the client on stdio says goodbye.
	Exit func()
}

// A Gateway is what all sessions share.
type Gateway struct {
	opt  Options
	set  *upstream.Set
	log  *slog.Logger
	info []byte // raw Implementation

	views    view.Cache
	pressure *pressure.Gauge
	rates    rate.Rates
	seals    modern.Sealer
	taskMark string // behind the ids of tasks that modern clients get
	parks    modern.Calls
	tasks    *tasks.Book
	scripts  scripts.Pool
	kept     *kept.Store
	cache    cache.Store
	// ownReading is opt.Own with the tool that reads on in kept results.
	ownReading func() *builtin.Set
	draining   atomic.Bool // no new call may run
	// tallies count what clients were shown.
	tallies    receipt.Tallies
	record     entry.Keeper
	translated entry.Translated
	skillsAt   sync.Map         // the revision at which skills were learnt, by who sees them
	answers    *answers.Answers // of what clients ask us
	// listeners are the open subscriptions of modern clients.
	listeners listen.Streams
	started   time.Time
	stopping  chan struct{} // closed when the process is about to end
	stopOnce  sync.Once

	mu       sync.Mutex
	sessions map[*Session]struct{}
	ids      atomic.Uint64
	changes  listen.Changes
}

// New returns a gateway over a set of upstreams. The set tells it about
// changes through Changed.
func New(opt Options) *Gateway {
	g := &Gateway{opt: opt, record: entry.Keeper{Traffic: opt.Traffic, Observe: opt.Observe, Usage: opt.Usage}, set: opt.Set, log: opt.Log, sessions: make(map[*Session]struct{})}
	g.info = marshal(opt.Info)
	if g.opt.Addresses == nil {
		g.opt.Addresses = addresses.Open("")
	}
	g.parks.TTL = modern.TTL
	g.seals = modern.NewSealer(opt.Seals)
	g.taskMark = g.seals.TaskMark(opt.Owner)
	g.tasks = tasks.NewBook()
	g.stopping = make(chan struct{})
	g.started = time.Now()
	g.changes.Announce = g.announce
	g.pressure = pressure.New(func() int64 { return g.config().Limits.Memory }, func() {
		g.views.Clear()
		g.cache.Clear()
	})
	g.kept = kept.NewStore(kept.Options{Dir: opt.Results, Bounds: func() (time.Duration, int64) {
		c := &g.config().Results
		return c.Keep, c.Disk
	}})
	g.ownReading = sync.OnceValue(func() *builtin.Set {
		return builtin.NewSet(append([]builtin.Tool{results.Reader}, opt.Own.Tools...))
	})
	g.answers = answers.New(g.config)
	return g
}

// An Opening says who opens a session, and on what.
type Opening struct {
	// Who is the principal that every request of the session belongs to, Via
	// the way by which its requests come in; empty for DoorSession.
	Who access.Principal
	Via traffic.Door
	// Schema is what the client addressed; Server is set when it addressed
	// one server of it, which then has its own names.
	Schema, Server string
	Stdio          bool
	// Strict says that the client cannot speak the dialect of the source
	// documents: legacy HTTP+SSE, which those never used.
	Strict bool
	// Session says that more requests will follow: false for a request
	// outside any session.
	Session bool
	// Client reaches the client outside any call; nil when it cannot be
	// reached.
	Client jsonrpc.Peer
	// Header is what came with a request of a modern client, outside any session.
	Header http.Header
	// Place is where the client found us.
	Place visit.Place
	// End ends the session; nil where there is none to end.
	End func()
	// Peer says that another replica asks, which has decided on the calls of its
	// clients and shows them what they may see. It gets one server as it is.
	Peer bool
	// Rehearse answers calls of servers' tools in place of the servers; nil lets
	// all run that may. See Pick.
	Rehearse func(Pick) *jsonrpc.Response
}

// Open returns a session for a client. The error says which schemas or servers
// there are.
func (g *Gateway) Open(o Opening) (*Session, error) {
	view := g.set.Snapshot().Schema(o.Schema)
	if view == nil || !o.Who.MaySee(o.Schema, "", "") {
		return nil, &NotFoundError{Kind: "Schema", Name: o.Schema, Known: g.schemasOf(o.Who)}
	}
	if o.Server != "" && !isThere(view, o.Server, o.Who) {
		return nil, &NotFoundError{Kind: "Server", Name: o.Server, Known: serversOf(view, o.Who)}
	}
	if o.Via == "" {
		o.Via = traffic.DoorSession
	}
	if o.Session && !o.Stdio && g.pressure.Level() >= pressure.RefuseSessionsAt {
		return nil, g.shortOfMemory()
	}
	s := &Session{}
	s.connect()
	s.gw, s.opening, s.scope, s.opened = g, o, o.Who.Sight(), time.Now()
	// Until it has shaken hands, a client counts as one of the source
	// documents'.
	s.rules = mcp.Rules(mcp.V2025_06_18)
	s.seed = !o.Strict && g.config().Compat != "spec"
	s.caller = &upstream.Caller{Principal: o.Who.ID, Version: mcp.V2025_06_18, Outside: func(server string) jsonrpc.Handler { return outside{&s.line, server} }}
	s.caller.Peer = o.Peer
	s.caller.Shared = o.Header != nil // more requests may follow, with the same header
	if o.Session {
		s.caller.Session = formatID(g.ids.Add(1))
	}
	if o.Session && o.Client != nil {
		g.mu.Lock()
		g.sessions[s] = struct{}{}
		g.mu.Unlock()
		g.tellClients()
	}
	return s, nil
}

// schemasOf lists the schemas that a principal sees.
func (g *Gateway) schemasOf(who access.Principal) []string {
	return slices.DeleteFunc(g.SchemaNames(), func(name string) bool { return !who.MaySee(name, "", "") })
}

// serversOf lists the servers of a schema that are there for a principal.
func serversOf(view *upstream.SchemaView, who access.Principal) []string {
	return slices.DeleteFunc(view.Config.Names(), func(name string) bool { return !isThere(view, name, who) })
}

// isThere says whether a principal sees a server that may be used at all.
func isThere(view *upstream.SchemaView, server string, who access.Principal) bool {
	u := view.Upstream(server)
	return u != nil && who.MaySee(view.Config.Name, server, "") && !u.Absent()
}

// SchemaNames lists the schemas that can be opened.
func (g *Gateway) SchemaNames() []string {
	var names []string
	for _, v := range g.set.Snapshot().Schemas {
		names = append(names, v.Config.Name)
	}
	return names
}

func (g *Gateway) config() *config.Config { return g.set.Snapshot().Config }

// forget drops a session that ended.
func (g *Gateway) forget(s *Session) {
	g.mu.Lock()
	_, known := g.sessions[s]
	delete(g.sessions, s)
	g.mu.Unlock()
	if known {
		g.tellClients()
	}
}

func (g *Gateway) tellClients() {
	if g.opt.OnClients != nil {
		g.opt.OnClients()
	}
}

// Stop ends the open subscriptions of modern clients with a result, so that
// nothing keeps their streams open.
func (g *Gateway) Stop() { g.stopOnce.Do(func() { close(g.stopping) }) }

// Drain lets no new call run: the process is about to end, and what is in flight
// finishes.
func (g *Gateway) Drain() { g.draining.Store(true) }

// Close ends the calls that wait for their clients, stops telling clients
// about changes, and waits.
func (g *Gateway) Close() {
	g.Stop()
	g.changes.Stop()
	g.parks.Close()
	g.tasks.Close()
	g.pressure.Stop()
	g.kept.Close()
}

// outside hears what a server says to a session outside any call.
type outside struct {
	line   *line
	server string
}

func (o outside) Handle(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if o.line.opening.Client == nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method '%s' not found", req.Method)
	}
	return o.line.question(ctx, o.line.opening.Client, req)
}

func (o outside) HandleNotification(ctx context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	if o.line.opening.Client != nil {
		o.line.pass(ctx, o.line.opening.Client, o.line.nameTask(o.server, n))
	}
}

func (g *Gateway) shortOfMemory() *jsonrpc.Error {
	g.opt.Hits.Add("memory")
	return mcp.Failure(mcp.Overloaded, "", "the gateway is short of memory")
}

// answer answers sampling/createMessage and elicitation/create where
// something that can answer is configured.
func (g *Gateway) answer(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	resp, err := g.answers.Answer(ctx, req.Method, req.Params)
	if resp != nil || err != nil {
		return resp, err
	}
	reason := "no sampling backend and no answers.sampling are configured"
	if req.Method == mcp.MethodElicit {
		reason = "nobody is at the console and no answers.elicitation are configured"
	}
	return nil, jsonrpc.MethodNotFound(req.Method, reason)
}
