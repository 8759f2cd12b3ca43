package gateway

import (
	"context"

	"mcp-all-in-one/internal/gateway/refusal"
	"mcp-all-in-one/internal/gateway/tasks"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// A translator calls tools as tasks, or waits for tasks, if a client and a
// server speak different dialects of tasks.
type translator struct{ *sender }

// perform calls a tool of a server. If the client has no tasks, or another
// dialect, the call becomes a task in the client's dialect, or perform waits
// for the task, so that the client sees an ordinary tool.
func (r *translator) perform(ctx context.Context, c *Call, t *target, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	p, u := c.client, t.upstream
	era, has := u.Tasks(ctx, p.caller)
	if !has {
		return r.exchange(ctx, p, u, req)
	}
	direct := c.Via == r.opening.Via // otherwise the result becomes part of another one
	asked := jsonrpc.Get(req.Params, "task") != nil
	switch {
	case era == mcp.Modern && p.rules.Era == mcp.Legacy && asked && direct:
		return r.askForTask(ctx, p, u, req)
	case era == mcp.Modern && (p.rules.Era == mcp.Legacy || !direct):
		return r.driveModern(ctx, p, u, req)
	case era == mcp.Modern || t.item == nil || asked:
		return r.exchange(ctx, p, u, req)
	case p.rules.Era == mcp.Modern && direct && p.caller.Offer.TakesTasks() && tasks.Possible(t.item):
		return r.beginTask(ctx, p, u, req)
	case !t.item.NeedsTask || p.rules.Era == mcp.Legacy && p.rules.SampleTools && direct:
		return r.exchange(ctx, p, u, req)
	}
	return r.drive(ctx, p, u, req)
}

// drive calls a tool of a legacy server that runs only as a task, and waits.
func (r *translator) drive(ctx context.Context, p party, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if p.rules.Era == mcp.Modern {
		p.caller = r.taskCaller(p, nil)
		defer p.caller.Close()
	}
	begun := *req
	begun.Params = jsonrpc.Set(req.Params, []byte(`{}`), "task")
	resp, err := r.callServer(ctx, p, u, &begun)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	id := jsonrpc.Get(resp.Result, "task", "taskId")
	if id == nil {
		return resp, nil // the server returned the result without a task
	}
	params := jsonrpc.Set([]byte(`{}`), id, "taskId")
	resp.Release()
	resp, err = r.exchange(ctx, p, u, &jsonrpc.Request{Method: mcp.MethodTasksResult, Params: params, Back: req.Back})
	if err != nil && ctx.Err() != nil {
		r.taskLink(p, u).Cancel(ctx, params)
		err = context.Cause(ctx) // the call was sent, if not the question for its result
	}
	if err == nil && resp.Err == nil {
		resp.Result = tasks.Without(resp.Result)
	}
	return resp, err
}

// driveModern calls a tool of a modern server for a client that is not told
// about tasks. If the tool runs only as a task, driveModern waits for the task.
func (r *translator) driveModern(ctx context.Context, p party, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	plain := p
	if p.caller.Offer.TakesTasks() {
		plain = takesTasks(p)
		plain.caller.Offer.Extensions = jsonrpc.Set(plain.caller.Offer.Extensions, nil, mcp.TasksExtension)
	}
	resp, err := r.exchange(ctx, plain, u, req)
	if err != nil || resp.Err == nil || resp.Err.Code != mcp.CodeCapabilityMissing ||
		jsonrpc.Get(resp.Err.Data, "requiredCapabilities", "extensions", mcp.TasksExtension) == nil {
		return resp, err
	}
	// The error says that the tool did not run.
	link := r.modernLink(p, u)
	resp, err = link.Call(ctx, req)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	if kind, _ := jsonrpc.GetString(resp.Result, "resultType"); kind == "task" {
		id, _ := jsonrpc.GetString(resp.Result, "taskId")
		resp, err = link.Follow(ctx, id, jsonrpc.Get(req.Params, "_meta", "progressToken"))
		if err != nil && ctx.Err() != nil {
			link.Cancel(ctx, tasks.About(mcp.MethodTasksCancel, id).Params)
			err = context.Cause(ctx)
		}
	}
	if err == nil && resp.Err == nil {
		r.adapt(p.rules, u, resp)
	}
	return resp, err
}

// taskLink returns the link between a client and the server of its tasks.
func (r *translator) taskLink(p party, u *upstream.Upstream) tasks.Link {
	return tasks.Link{
		Schema: r.opening.Schema, Server: u.Name(), Principal: r.opening.Who.ID, Version: p.rules.Date, Back: p.back, Log: r.gw.log,
		Call: func(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
			return r.callServer(ctx, p, u, req)
		},
		Rename: func(message []byte) []byte { return r.nameTasks(u.Name(), message) },
	}
}

// modernLink returns the link between a legacy client and a modern server.
func (r *translator) modernLink(p party, u *upstream.Upstream) tasks.Link {
	link := r.taskLink(p, u)
	link.Call = func(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
		return r.callServer(ctx, takesTasks(p), u, req)
	}
	return link
}

// takesTasks returns a party that accepts modern tasks, for calls to a modern
// server on behalf of a client with another dialect of tasks.
func takesTasks(p party) party {
	p.caller = p.caller.Again()
	p.caller.Offer = p.caller.Offer.WithTasks()
	return p
}

// askForTask calls a tool of a modern server as a task for a legacy client.
func (r *translator) askForTask(ctx context.Context, p party, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	resp, err := r.gw.tasks.Ask(ctx, r.modernLink(p, u), req)
	if err == nil && resp.Err == nil {
		resp.Result = r.nameTasks(u.Name(), resp.Result)
	}
	return resp, err
}

// legacyTask answers a legacy client's request about a task of a modern server.
func (r *translator) legacyTask(ctx context.Context, c *Call, t *target) (*jsonrpc.Response, error) {
	p, u := c.client, t.upstream
	resp, err := r.gw.tasks.Answer(ctx, r.modernLink(p, u), t.name, c.Method)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	if c.Method != mcp.MethodTasksResult {
		return &jsonrpc.Response{Result: r.nameTasks(u.Name(), mcp.LegacyTask(resp.Result))}, nil
	}
	r.adapt(p.rules, u, resp)
	resp.Result = r.nameTasks(u.Name(), tasks.Relate(resp.Result, t.name))
	return resp, nil
}

// newBridge returns the bridge that shows a task of a legacy server to a modern
// client. before, if not nil, gets the server's messages until the task exists.
func (r *translator) newBridge(ctx context.Context, p party, u *upstream.Upstream, before jsonrpc.Handler) *tasks.Bridge {
	p.back = before
	rewrite := func(result []byte) []byte { return r.look().All.RewriteURIs(u.Name(), result) }
	var caller *upstream.Caller
	link := r.taskLink(p, u)
	link.Call = func(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
		return r.callServer(ctx, party{caller: caller, rules: p.rules}, u, req)
	}
	b := r.gw.tasks.NewBridge(ctx, link, rewrite, func() { caller.Close() })
	caller = r.taskCaller(p, b)
	return b
}

// taskCaller returns the caller with which a task of a modern client calls a
// legacy server: it uses the same connection for every request.
func (r *translator) taskCaller(p party, outside jsonrpc.Handler) *upstream.Caller {
	c := p.caller.Again()
	c.Era, c.Offer = mcp.Modern, mcp.Offer{}
	if !p.caller.Offer.Empty() {
		c.Offer, c.Session = p.caller.Offer, "task-"+formatID(r.gw.ids.Add(1))
		c.Offer.Extensions = nil
	}
	if outside != nil {
		c.Outside = func(string) jsonrpc.Handler { return outside }
	}
	return c
}

// beginTask calls a tool of a legacy server as a task for a modern client.
func (r *translator) beginTask(ctx context.Context, p party, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	resp, begun, err := r.newBridge(ctx, p, u, req.Back).Begin(ctx, req)
	switch {
	case err != nil || resp.Err != nil:
	case begun:
		resp.Result = r.nameTasks(u.Name(), resp.Result)
	default:
		r.adapt(p.rules, u, resp)
	}
	return resp, err
}

// bridgeOf returns the bridge of a task that a modern client names. A task that
// was begun before this process started gets a new bridge.
func (r *translator) bridgeOf(ctx context.Context, p party, t *target) (*tasks.Bridge, error) {
	if known := r.gw.tasks.Bridge(r.taskKey(t)); known != nil {
		return known, nil
	}
	if t.upstream == nil {
		return nil, refusal.NoTask(t.name)
	}
	return r.newBridge(ctx, p, t.upstream, nil).Adopt(ctx, t.name)
}

func (id *identity) taskKey(t *target) tasks.Key {
	k := tasks.Key{Schema: id.opening.Schema, ID: t.name}
	if t.upstream != nil {
		k.Server = t.upstream.Name()
	}
	return k
}

// wantsTask reports whether a script call should run as a task.
func (d *dispatcher) wantsTask(c *Call, t *target) bool {
	script := t.stored != nil || t.own != nil && t.own.Script
	return script && c.Via == d.opening.Via && tasks.Wanted(c.client.rules, c.client.caller.Offer, t.params)
}

// ours returns the link between a client and its scripts that run as tasks.
func (d *dispatcher) ours(c *Call) tasks.Link {
	return tasks.Link{
		Schema: d.opening.Schema, Principal: d.opening.Who.ID, Version: c.client.rules.Date, Back: outside{&d.line, ""}, Log: d.gw.log,
		Rename: func(message []byte) []byte { return d.nameTasks("", message) },
		Enter:  func() (func(), error) { return d.gw.scripts.Enter(d.opening.Who.ID) },
	}
}

// modernTask answers a modern client's request about a task of a legacy server.
func (r *translator) modernTask(ctx context.Context, c *Call, t *target) (*jsonrpc.Response, error) {
	if !c.client.caller.Offer.TakesTasks() {
		return nil, refusal.NeedsTasks()
	}
	b, err := r.bridgeOf(ctx, c.client, t)
	if err != nil {
		return nil, err
	}
	resp, err := b.Answer(ctx, c.Method, t.params)
	if err == nil && resp.Err == nil {
		resp.Result = r.nameTasks(t.upstream.Name(), resp.Result)
	}
	return resp, err
}
