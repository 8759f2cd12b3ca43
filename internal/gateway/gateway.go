// Package gateway merges many MCP servers into one.
//
// A Session answers one client. It routes each request to its server, carries
// the server's questions back to the client whose call caused them, and
// translates between protocol versions. It forwards messages byte for byte and
// edits only the names in them. It does not know the transport.
package gateway

import (
	"cmp"
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
	"mcp-all-in-one/internal/gateway/quota"
	"mcp-all-in-one/internal/gateway/refusal"
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
	"mcp-all-in-one/internal/upstream/servers"
	"mcp-all-in-one/internal/usage"
	"mcp-all-in-one/internal/weight"
)

// Options make a Gateway.
type Options struct {
	Set *servers.Set
	Log *slog.Logger
	// Info is the implementation name and version that clients are told.
	Info mcp.Implementation
	// Level is the process's own log level, which a client on stdio may set.
	Level *slog.LevelVar
	// Greeting is set on stdio, where there is one client.
	Greeting *upstream.Greeting
	// Traffic records the calls; nil records none.
	Traffic *traffic.Recorder
	// Observe is called with the outcome of each call, on both hops. It runs in
	// the goroutine of the call and must not block. It may be nil.
	Observe func(*traffic.Observation)
	// Usage counts calls by the day; nil counts nothing.
	Usage *usage.Book
	// Addresses stores the rewritten addresses that clients were given; nil
	// keeps them in memory.
	Addresses *addresses.File
	// Own are the gateway's own tools; nil for none.
	Own *builtin.Set
	// Hits count the limits that were reached; nil counts none. Rates limit how
	// often clients call; nil makes new ones.
	Hits  *config.Hits
	Rates *rate.Rates
	// Weights counts the memory of the unfinished requests of each principal; nil
	// makes a new one.
	Weights *weight.Book
	// Approve asks a person whether a call may run; if it is nil, no such call
	// may.
	Approve func(context.Context, Approval) traffic.Yes
	// AskValue sends a person to a page where they enter a value that a call needs.
	AskValue visit.Asker
	// OnClients is called when the result of Clients changes. It must not
	// block. It may be nil.
	OnClients func()
	// Scripts runs scripts; nil refuses them. Results is the folder of kept
	// results.
	Scripts *script.Runner
	Results string
	// Seals encrypts handles; nil for keys of this process. Owner names this
	// process in handles; it is empty without a cluster.
	Seals *seal.Ring
	Owner string
	// Fetch gets a result that another replica has kept, by its URI without the
	// mark. It is nil without a cluster.
	Fetch func(ctx context.Context, replica string, owner kept.Owner, uri string) (kept.Result, error)
	// Exit is called when the client on stdio sends an exit notification.
	Exit func()
}

// A Gateway holds the state that all sessions share.
type Gateway struct {
	opt  Options
	set  *servers.Set
	log  *slog.Logger
	info []byte // raw Implementation

	views    view.Cache
	pressure *pressure.Gauge
	rates    *rate.Rates
	memory   quota.Quota
	seals    modern.Sealer
	mark     string // suffix of the ids of kept results, and of the tasks of modern clients
	parks    modern.Calls
	tasks    *tasks.Book
	scripts  scripts.Pool
	Kept     *kept.Store // by URIs without the mark of this replica
	cache    cache.Store
	// ownReading returns opt.Own with the tool that reads kept results.
	ownReading func() *builtin.Set
	draining   atomic.Bool // no new call may run
	// tallies count the tools and tokens that clients were shown.
	tallies    receipt.Tallies
	record     entry.Keeper
	translated entry.Translated
	skillsAt   sync.Map         // the revision at which skills were listed, by what a client sees
	answers    *answers.Answers // configured answers to clients' sampling and elicitation requests
	// listeners are the open subscriptions of modern clients.
	listeners listen.Streams
	started   time.Time
	stopping  context.Context // done when the process is about to end
	stop      context.CancelFunc

	mu       sync.Mutex
	sessions map[*Session]struct{}
	ids      atomic.Uint64
	changes  listen.Changes
}

// New returns a gateway over a set of upstreams. The set reports changes by
// calling Changed.
func New(opt Options) *Gateway {
	g := &Gateway{opt: opt, record: entry.Keeper{Traffic: opt.Traffic, Observe: opt.Observe, Usage: opt.Usage}, set: opt.Set, log: opt.Log, sessions: make(map[*Session]struct{})}
	g.info, g.rates = marshal(opt.Info), cmp.Or(opt.Rates, new(rate.Rates))
	g.memory = quota.Quota{Book: cmp.Or(opt.Weights, new(weight.Book)), Share: func() int64 { return g.config().Limits.Unfinished() }, Hits: opt.Hits}
	if g.opt.Addresses == nil {
		g.opt.Addresses = addresses.Open("")
	}
	g.parks = modern.Calls{TTL: modern.TTL, Shares: access.Shares, Weigh: g.memory.Weigh}
	g.seals = modern.NewSealer(opt.Seals)
	g.mark = g.seals.Mark(opt.Owner)
	g.tasks = tasks.NewBook()
	g.stopping, g.stop = context.WithCancel(context.Background())
	g.started = time.Now()
	g.changes.Announce = g.announce
	g.pressure = pressure.New(func() int64 { return g.config().Limits.Memory }, func() {
		g.views.Clear()
		g.cache.Clear()
	})
	g.Kept = kept.NewStore(kept.Options{Dir: opt.Results, Mark: g.mark, Bounds: func() (time.Duration, int64) {
		c := &g.config().Results
		return c.Keep, c.Disk
	}})
	g.ownReading = sync.OnceValue(func() *builtin.Set {
		return builtin.NewSet(append([]builtin.Tool{results.Reader}, opt.Own.Tools...))
	})
	g.answers = answers.New(g.config)
	return g
}

// An Opening describes a new session: its principal, door and target.
type Opening struct {
	// Who is the principal of every request of the session. Via is the door of
	// these requests; empty means DoorSession.
	Who access.Principal
	Via traffic.Door
	// Opener is the principal that opened the session, if it has more rights than
	// Who.
	Opener access.Principal
	// Schema is the schema that the client addressed. Server is set if it
	// addressed one server of the schema; its names then have no prefix.
	Schema, Server string
	Stdio          bool
	// Strict is set for clients that never get the answers of mcps-proxy and
	// mcpx: those of legacy HTTP+SSE, which neither program served.
	Strict bool
	// Session is false for a single request outside any session.
	Session bool
	// Client sends requests and notifications to the client outside any call;
	// nil if the client cannot be reached.
	Client jsonrpc.Peer
	// Header is the HTTP header of a modern client's request, which has no session.
	Header http.Header
	// Place is the address at which the client reached the gateway.
	Place visit.Place
	// End ends the session; nil where there is none to end.
	End func()
	// Peer is set if the session belongs to another replica. That replica has
	// authorized the calls of its clients and filters what they see, so it gets
	// one server unfiltered.
	Peer bool
	// Rehearse answers tool calls in place of the servers. If it is nil, the
	// calls run. See Pick.
	Rehearse func(Pick) *jsonrpc.Response
}

// MayResume reports whether the principal of a request may act in the session,
// whose calls do not have its rights, but those of the session.
func (s *Session) MayResume(ctx context.Context) bool {
	opener := s.opening.Opener
	if opener.ID == "" {
		opener = s.opening.Who
	}
	return access.From(ctx).MayResume(opener)
}

// Open returns a session for a client. If the schema or server does not exist,
// the error lists those that do.
func (g *Gateway) Open(o Opening) (*Session, error) {
	view := g.set.Snapshot().Schema(o.Schema)
	if view == nil || !o.Who.MaySee(o.Schema, "", "") {
		return nil, &refusal.NotFoundError{Kind: "Schema", Name: o.Schema, Known: g.schemasOf(o.Who)}
	}
	if o.Server != "" && !isThere(view, o.Server, o.Who) {
		return nil, &refusal.NotFoundError{Kind: "Server", Name: o.Server, Known: serversOf(view, o.Who)}
	}
	if o.Via == "" {
		o.Via = traffic.DoorSession
	}
	if o.Session && !o.Stdio {
		if err := HasRoom(g); err != nil {
			return nil, err
		}
	}
	s := &Session{}
	s.connect()
	s.gw, s.opening, s.scope, s.opened = g, o, o.Who.Sight(), time.Now()
	// Before its handshake a client gets the answers of mcps-proxy and mcpx.
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

// serversOf lists the servers of a schema that a principal can use.
func serversOf(view *servers.SchemaView, who access.Principal) []string {
	return slices.DeleteFunc(view.Config.Names(), func(name string) bool { return !isThere(view, name, who) })
}

// isThere reports whether a server can be used and the principal sees it.
func isThere(view *servers.SchemaView, server string, who access.Principal) bool {
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

// Stop ends what could keep requests open for long without a server at work:
// the subscriptions of modern clients, and the gateway's own questions, such as
// whether a call may run.
func (g *Gateway) Stop() { g.stop() }

// Drain refuses new calls, because the process is about to end. Calls in flight
// finish.
func (g *Gateway) Drain() { g.draining.Store(true) }

// End ends what runs for a principal without a request: scripts that are tasks,
// and calls that wait for an answer of their client. Its sessions end with their
// transport.
func (g *Gateway) End(principal string) {
	err := mcp.Failure(mcp.PolicyDenied, "", "the client has lost its access")
	g.parks.End(principal, err)
	tasks.End(g.tasks, principal, err)
}

// Close ends the calls that wait for an answer of their client, stops the
// notifications about changes, and waits for both.
func (g *Gateway) Close() {
	g.Stop()
	g.changes.Stop()
	g.parks.Close()
	g.tasks.Close()
	g.pressure.Stop()
	g.Kept.Close()
}

// outside handles messages that a server sends to a session outside any call.
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

// HasRoom returns an error while memory is too short for what stays in memory, such
// as a new session.
func HasRoom(g *Gateway) error {
	if g.pressure.Level() < pressure.RefuseSessionsAt {
		return nil
	}
	return g.shortOfMemory()
}

func (g *Gateway) shortOfMemory() *jsonrpc.Error {
	g.opt.Hits.Add("memory")
	return mcp.Failure(mcp.Overloaded, "", "the gateway is short of memory (limits.memory); the call did not run, try again")
}

// answer answers a client's sampling/createMessage or elicitation/create, if an
// answer is configured.
func (s *Session) answer(ctx context.Context, req *Call) (*jsonrpc.Response, error) {
	if err := s.guard.authorize(ctx, req, &target{kind: answerItem}); err != nil {
		return nil, err
	}
	resp, err := s.gw.answers.Answer(ctx, req.Method, req.Params)
	if resp != nil || err != nil {
		return resp, err
	}
	reason := "neither a sampling backend nor answers.sampling is configured"
	if req.Method == mcp.MethodElicit {
		reason = "answers.elicitation is not configured"
	}
	return nil, jsonrpc.MethodNotFound(req.Method, reason)
}
