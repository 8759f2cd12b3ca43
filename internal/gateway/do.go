package gateway

import (
	"bytes"
	"context"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/entry"
	"mcp-all-in-one/internal/gateway/refusal"
	"mcp-all-in-one/internal/gateway/roots"
	"mcp-all-in-one/internal/gateway/scripts"
	"mcp-all-in-one/internal/gateway/visit"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
)

// A Call is one request for a server or for one of our own tools, through any
// door. It belongs to the principal of the session.
type Call struct {
	// Via is the door through which the call arrived.
	Via    traffic.Door
	Method string
	// Target is the tool, prompt, URI or task as the caller wrote it. If Server
	// is set, Target is that server's own name for it.
	Server, Target string
	Params         []byte

	client requestClient
}

// A requestClient is the client of one request: servers are called on its behalf, and
// it answers their questions.
type requestClient struct {
	caller *upstream.Caller
	back   jsonrpc.Handler
	rules  mcp.Version
	roots  *roots.Told
}

// A target is the destination of a call.
type target struct {
	kind     itemKind
	upstream *upstream.Upstream
	name     string        // the server's own name
	item     *catalog.Item // its definition; nil if the server does not list it
	own      *builtin.Tool // one of our own tools, instead of a server's
	stored   *builtin.Tool // the tool of a server that is a script; it runs in the gateway
	// params are the parameters of the call, with the names that the server
	// uses. arguments are the tool arguments in them.
	params, arguments []byte
	// agreed are the servers that a person has agreed to remove with this call.
	agreed []string
	// sources are the servers from which a script has something; nil for any other
	// target.
	sources *scripts.Sources
	// instead is the response to a rehearsed call.
	instead *jsonrpc.Response
}

// readOnly reports whether the target is a tool that claims to be read-only.
func (t *target) readOnly() bool { return t.item != nil && t.item.ReadOnly() }

func (t *target) isScript() bool { return t.stored != nil || t.own != nil && t.own.Script }

// from returns the servers that the result of a call came from.
func (t *target) from() []string {
	if t.sources != nil {
		return t.sources.List()
	}
	return []string{t.upstream.Name()}
}

// Describe returns o with the server and the item for the record.
func (t *target) Describe(o traffic.Outcome) traffic.Outcome {
	switch {
	case t == nil: // the record has ended
	case t.upstream != nil:
		o.Server, o.Item = t.upstream.Name(), t.name
		if t.stored != nil {
			o.Script = t.stored.Code
		}
		if t.instead != nil {
			o.Notes = []string{traffic.Rehearsed}
		}
	case t.own != nil && t.own.Name != builtin.ExecName: // exec is skipped: the call in it is recorded by itself
		o.Item = t.own.Name
	}
	return o
}

// An itemKind is the kind of a target.
type itemKind uint8

const (
	toolItem itemKind = iota
	promptItem
	resourceItem
	taskItem
	methodItem // a method outside the protocol
	skillsItem // the skills of a server, as a list
	listenItem // a subscription of a client; each part of it is authorized on its own
	answerItem // a question that the gateway answers itself, with its model or fixed answers
)

// of returns the kind of the list that contains such items.
func (k itemKind) of() catalog.Kind {
	return [...]catalog.Kind{catalog.Tools, catalog.Prompts, catalog.Resources}[k]
}

// A dispatcher makes the calls of one client.
type dispatcher struct {
	viewer
	journal       entry.Journal
	line          line
	startup       startup
	account       account
	large         largeResults
	subscriptions subscriptions
	finder        finder
	guard         guard
	sender        sender
}

// connect sets the pointers between the parts of a dispatcher.
func (d *dispatcher) connect() {
	d.journal.Client = &d.identity
	d.line.identity, d.line.journal = &d.identity, &d.journal
	d.startup.sight = &d.sight
	d.account.viewer = &d.viewer
	d.large.account = &d.account
	d.subscriptions.viewer, d.subscriptions.guard = &d.viewer, &d.guard
	d.finder = finder{&d.viewer, &d.startup}
	d.guard.viewer = &d.viewer
	d.sender = sender{&d.viewer, &d.line}
}

// Do makes a call: it resolves the target, authorizes the call, sends it, and
// records the outcome. It is the only path from a request to a server but
// listen, which takes the same steps for each part of a subscription.
func (d *dispatcher) Do(ctx context.Context, c *Call) (*jsonrpc.Response, error) {
	var t *entry.Trace
	if c.Via != d.opening.Via { // otherwise Handle keeps the record
		ctx, t = d.journal.Begin(ctx, c.Via, &jsonrpc.Request{Method: c.Method, Params: c.Params}, c.Server, c.Target)
	}
	resp, err := weighed(ctx, d, c)
	resp, err = d.gw.opt.AskValue.OrElicit(resp, err, c.client.caller, c.client.rules, visit.Question{Who: d.opening.Who, At: d.opening.Place})
	d.journal.End(ctx, t, resp, err)
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

// attempt sends a call to one target, if the call is authorized.
func (d *dispatcher) attempt(ctx context.Context, c *Call, t *target) (*jsonrpc.Response, error) {
	entry.Traced(ctx).LeadsTo(t)
	if err := mcp.NotSent(d.guard.authorize(ctx, c, t)); err != nil {
		if c.Via == d.opening.Via {
			return refusal.AsToolError(c.client.rules, err)
		}
		return nil, err
	}
	d.locate(ctx, c, t)
	if t.isScript() {
		ctx, t.sources = scripts.Noting(ctx, d.standing(c.client.caller))
	}
	if t.upstream != nil {
		scripts.Note(ctx, t.upstream.Name())
	}
	if !d.wantsTask(c, t) {
		return d.send(ctx, c, t)
	}
	// The task outlives the request, whose buffer is used again.
	own, to := *c, *t
	own.Params = nil // resolved already
	to.params, to.arguments = bytes.Clone(t.params), bytes.Clone(t.arguments)
	link := weighedTask(d, d.ours(c), len(to.params)+len(to.arguments))
	link.Sources = t.sources.List
	return d.gw.tasks.Run(ctx, link, func(ctx context.Context, back jsonrpc.Handler) (*jsonrpc.Response, error) {
		own.client.back = back
		return d.send(scripts.Entered(ctx), &own, &to)
	})
}

// request returns a client's own request as a call.
func (d *dispatcher) request(p requestClient, req *jsonrpc.Request) *Call {
	return &Call{Via: d.opening.Via, Method: req.Method, Params: req.Params, client: p}
}

// forward makes a call of a client's own request.
func (d *dispatcher) forward(ctx context.Context, p requestClient, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return d.Do(ctx, d.request(p, req))
}

// notFound returns the error for a target that does not exist. A target that
// the principal may not use gets the same error.
func (id *identity) notFound(c *Call) error {
	switch c.Method {
	case mcp.MethodToolsCall:
		// A modern client never gets the answers of mcps-proxy and mcpx.
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

// resolve finds the target of a call.
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
