package gateway

import (
	"context"
	"errors"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/refusal"
	"mcp-all-in-one/internal/gateway/roots"
	"mcp-all-in-one/internal/gateway/visit"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
)

// A Call is one request for a server, or for a tool of our own, by any door. It
// belongs to the principal of the session that makes it.
type Call struct {
	// Via is the door by which it came in.
	Via    traffic.Door
	Method string
	// Target is the tool, the prompt, the URI or the task as the caller wrote
	// it. Where the caller names the server apart, Server is set and Target is
	// the server's own name.
	Server, Target string
	Params         []byte

	client party
}

// A party is the client of one request: on whose behalf servers are called and
// who answers what they ask.
type party struct {
	caller *upstream.Caller
	back   jsonrpc.Handler
	rules  mcp.Version
	roots  *roots.Told
}

// A target is what a call leads to.
type target struct {
	kind     itemKind
	upstream *upstream.Upstream
	name     string        // the server's own name
	item     *catalog.Item // its definition; nil where the server lists none
	own      *builtin.Tool // a tool of our own instead of a server's
	// params are the call's parameters, with the names that the server knows;
	// arguments are the part of them that a tool gets.
	params, arguments []byte
	// agreed are the servers that a person has agreed to lose by this call.
	agreed []string
	// instead is the answer to a call that is only rehearsed.
	instead *jsonrpc.Response
}

// An itemKind says what a target is.
type itemKind uint8

const (
	toolItem itemKind = iota
	promptItem
	resourceItem
	taskItem
	methodItem // a method outside the protocol
	skillsItem // the skills of a server, as a list
	listenItem // what a client hears about, each part of which is decided on
)

// of is the kind of list that has such items.
func (k itemKind) of() catalog.Kind {
	return [...]catalog.Kind{catalog.Tools, catalog.Prompts, catalog.Resources}[k]
}

// A dispatcher makes the calls of one client.
type dispatcher struct {
	viewer
	journal       journal
	line          line
	startup       startup
	account       account
	shelf         shelf
	subscriptions subscriptions
	finder        finder
	guard         guard
	sender        sender
	translator    translator
}

// connect lets the parts of a dispatcher use each other.
func (d *dispatcher) connect() {
	d.journal.identity = &d.identity
	d.line.journal = &d.journal
	d.startup.sight = &d.sight
	d.account.viewer = &d.viewer
	d.shelf.account = &d.account
	d.subscriptions.viewer = &d.viewer
	d.finder = finder{&d.viewer, &d.startup}
	d.guard.viewer = &d.viewer
	d.sender = sender{&d.viewer, &d.line}
	d.translator.sender = &d.sender
}

// Do makes a call: it finds what the call leads to, decides whether it may run,
// sends it, and records how it ended. It is the only way from a request to a
// server.
func (d *dispatcher) Do(ctx context.Context, c *Call) (*jsonrpc.Response, error) {
	var t *trace
	if c.Via != d.opening.Via { // otherwise Handle keeps its record
		ctx, t = d.journal.begin(ctx, c.Via, &jsonrpc.Request{Method: c.Method, Params: c.Params}, c.Server, c.Target)
	}
	resp, err := d.do(ctx, c)
	resp, err = d.gw.opt.AskValue.Instead(resp, err, c.client.caller, c.client.rules, visit.Question{Who: d.opening.Who, At: d.opening.Place})
	d.journal.end(ctx, t, resp, err)
	return resp, refusal.Discreet(err, &d.opening.Who)
}

func (d *dispatcher) do(ctx context.Context, c *Call) (*jsonrpc.Response, error) {
	switch c.Method {
	case mcp.MethodResourcesRead:
		return d.read(ctx, c)
	case mcp.MethodTasksList:
		return d.listTasks(ctx, c)
	case mcp.MethodSkillsList:
		return d.listSkills(ctx, c)
	case mcp.MethodSkillsGet, mcp.MethodDirectoryRead:
		return d.readSkill(ctx, c)
	}
	t, err := d.resolve(ctx, c)
	if err != nil {
		return nil, mcp.NotSent(err)
	}
	return d.attempt(ctx, c, t)
}

// attempt sends a call to one target, if it may run there.
func (d *dispatcher) attempt(ctx context.Context, c *Call, t *target) (*jsonrpc.Response, error) {
	traced(ctx).leadsTo(t)
	if err := mcp.NotSent(d.guard.authorize(ctx, c, t)); err != nil {
		if c.Via == d.opening.Via {
			return refusal.AsToolError(c.client.rules, err)
		}
		return nil, err
	}
	d.locate(ctx, c, t)
	return d.send(ctx, c, t)
}

// request is a client's own request as a call.
func (d *dispatcher) request(p party, req *jsonrpc.Request) *Call {
	return &Call{Via: d.opening.Via, Method: req.Method, Params: req.Params, client: p}
}

// forward makes a client's own request a call.
func (d *dispatcher) forward(ctx context.Context, p party, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return d.Do(ctx, d.request(p, req))
}

// notFound says that what a call asks for is not there. What a principal may
// not use is not there for it.
func (id *identity) notFound(c *Call) error {
	switch c.Method {
	case mcp.MethodToolsCall:
		// A modern client never speaks the dialect of the source documents.
		return refusal.NoTool(c.Target, &catalog.Miss{}, id.seed && c.client.rules.Era == mcp.Legacy)
	case mcp.MethodPromptsGet:
		return refusal.NoPrompt(c.Target, &catalog.Miss{})
	case mcp.MethodResourcesRead, mcp.MethodSubscribe:
		return refusal.NoResource(c.Target, c.client.rules.Era == mcp.Modern)
	case mcp.MethodComplete:
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "'%s' not found", refusal.Clip(c.Target))
	case mcp.MethodTasksGet, mcp.MethodTasksResult, mcp.MethodTasksCancel, mcp.MethodTasksUpdate:
		return refusal.NoTask(c.Target)
	case mcp.MethodSkillsGet, mcp.MethodDirectoryRead:
		return refusal.NoSkill(c.Method, c.Target)
	}
	return jsonrpc.MethodNotFound(c.Method, "Method not found")
}

// resolve finds what a call leads to.
func (d *dispatcher) resolve(ctx context.Context, c *Call) (*target, error) {
	switch c.Method {
	case mcp.MethodToolsCall:
		return d.finder.tool(ctx, c)
	case mcp.MethodPromptsGet:
		return d.finder.prompt(ctx, c)
	case mcp.MethodSubscribe:
		return d.resolveSubscription(ctx, c)
	case mcp.MethodComplete:
		return d.finder.completion(ctx, c)
	case mcp.MethodTasksGet, mcp.MethodTasksResult, mcp.MethodTasksCancel, mcp.MethodTasksUpdate:
		return d.finder.task(c)
	}
	return d.finder.method(c)
}

// asWire returns the error of ours in err.
func asWire(err error) (*jsonrpc.Error, bool) {
	var wire *jsonrpc.Error
	ok := errors.As(err, &wire)
	return wire, ok
}
