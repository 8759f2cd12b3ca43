package tasks

import (
	"context"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// A Translator calls tools of a server as tasks, or waits for tasks, if the
// client and the server speak different dialects of tasks.
type Translator struct {
	Book   *Book
	Link   Link // without Call
	Caller *upstream.Caller
	Rules  mcp.Version // of the client
	// Session returns a new session, for a task that needs a connection of its
	// own.
	Session func() string
	// Call calls the server; Exchange calls it and adapts the response to the
	// client, which Adapt does, too.
	Call, Exchange func(context.Context, *upstream.Caller, *jsonrpc.Request) (*jsonrpc.Response, error)
	Adapt          func(*jsonrpc.Response)
	// Rewrite replaces the URIs of the server by those that clients know.
	Rewrite func([]byte) []byte
}

// Perform calls a tool of a server with tasks of an era. If the client has no
// tasks, or another dialect, the call becomes a task in the client's dialect, or
// Perform waits for the task, so that the client sees an ordinary tool. item is
// nil if the server does not list the tool. direct says that the result is for
// the client itself, not part of another one.
func (r *Translator) Perform(ctx context.Context, era mcp.Era, item *catalog.Item, direct bool, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	asked := jsonrpc.Get(req.Params, "task") != nil
	switch {
	case era == mcp.Modern && r.Rules.Era == mcp.Legacy && asked && direct:
		return r.askForTask(ctx, req)
	case era == mcp.Modern && (r.Rules.Era == mcp.Legacy || !direct):
		return r.driveModern(ctx, req)
	case era == mcp.Modern || item == nil || asked:
		return r.Exchange(ctx, r.Caller, req)
	case r.Rules.Era == mcp.Modern && direct && r.Caller.Offer.TakesTasks() && possible(item):
		return r.beginTask(ctx, req)
	case !item.NeedsTask || r.Rules.Era == mcp.Legacy && r.Rules.SampleTools && direct:
		return r.Exchange(ctx, r.Caller, req)
	}
	return r.drive(ctx, req)
}

// drive calls a tool of a legacy server that runs only as a task, and waits.
func (r *Translator) drive(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	caller := r.Caller
	if r.Rules.Era == mcp.Modern {
		caller = r.taskCaller(nil)
		defer caller.Close()
	}
	begun := *req
	begun.Params = jsonrpc.Set(req.Params, []byte(`{}`), "task")
	resp, err := r.Call(ctx, caller, &begun)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	id := jsonrpc.Get(resp.Result, "task", "taskId")
	if id == nil {
		return resp, nil // the server returned the result without a task
	}
	params := jsonrpc.Set([]byte(`{}`), id, "taskId")
	resp.Release()
	resp, err = r.Exchange(ctx, caller, &jsonrpc.Request{Method: mcp.MethodTasksResult, Params: params, Back: req.Back})
	if err != nil && ctx.Err() != nil {
		r.as(caller).Cancel(ctx, params)
		err = context.Cause(ctx) // the call was sent, if not the question for its result
	}
	if err == nil && resp.Err == nil {
		resp.Result = Without(resp.Result)
	}
	return resp, err
}

// driveModern calls a tool of a modern server for a client that is not told
// about tasks. If the tool runs only as a task, driveModern waits for the task.
func (r *Translator) driveModern(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	plain := r.Caller
	if plain.Offer.TakesTasks() {
		plain = withTasks(plain)
		plain.Offer.Extensions = jsonrpc.Set(plain.Offer.Extensions, nil, mcp.TasksExtension)
	}
	resp, err := r.Exchange(ctx, plain, req)
	if err != nil || resp.Err == nil || resp.Err.Code != mcp.CodeCapabilityMissing ||
		jsonrpc.Get(resp.Err.Data, "requiredCapabilities", "extensions", mcp.TasksExtension) == nil {
		return resp, err
	}
	// The error says that the tool did not run.
	link := r.modern()
	resp, err = link.Call(ctx, req)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	if kind, _ := jsonrpc.GetString(resp.Result, "resultType"); kind == "task" {
		id, _ := jsonrpc.GetString(resp.Result, "taskId")
		resp, err = link.Follow(ctx, id, jsonrpc.Get(req.Params, "_meta", "progressToken"))
		if err != nil && ctx.Err() != nil {
			link.Cancel(ctx, About(mcp.MethodTasksCancel, id).Params)
			err = context.Cause(ctx)
		}
	}
	if err == nil && resp.Err == nil {
		r.Adapt(resp)
	}
	return resp, err
}

// as returns the link that calls the server as a caller.
func (r *Translator) as(caller *upstream.Caller) Link {
	link := r.Link
	link.Call = func(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
		return r.Call(ctx, caller, req)
	}
	return link
}

// modern returns the link between a legacy client and a modern server.
func (r *Translator) modern() Link { return r.as(withTasks(r.Caller)) }

// withTasks returns a caller that accepts modern tasks, for calls to a modern
// server on behalf of a client with another dialect of tasks.
func withTasks(c *upstream.Caller) *upstream.Caller {
	c = c.WithoutSession()
	c.Offer = c.Offer.WithTasks()
	return c
}

// askForTask calls a tool of a modern server as a task for a legacy client.
func (r *Translator) askForTask(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	resp, err := r.Book.Ask(ctx, r.modern(), req)
	if err == nil && resp.Err == nil {
		resp.Result = r.Link.Rename(resp.Result)
	}
	return resp, err
}

// Answer answers a legacy client's request about a task of a modern server.
func (r *Translator) Answer(ctx context.Context, id, method string) (*jsonrpc.Response, error) {
	resp, err := r.Book.Answer(ctx, r.modern(), id, method)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	if method != mcp.MethodTasksResult {
		return &jsonrpc.Response{Result: r.Link.Rename(mcp.LegacyTask(resp.Result))}, nil
	}
	r.Adapt(resp)
	resp.Result = r.Link.Rename(relate(resp.Result, id))
	return resp, nil
}

// newBridge returns the bridge that shows a task of a legacy server to a modern
// client. before, if not nil, gets the server's messages until the task exists.
func (r *Translator) newBridge(ctx context.Context, before jsonrpc.Handler) *Bridge {
	var caller *upstream.Caller
	link := r.Link
	link.Back = before
	link.Call = func(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
		return r.Call(ctx, caller, req)
	}
	b := r.Book.NewBridge(ctx, link, r.Rewrite, func() { caller.Close() })
	caller = r.taskCaller(b)
	return b
}

// taskCaller returns the caller with which a task of a modern client calls a
// legacy server: it uses the same connection for every request.
func (r *Translator) taskCaller(outside jsonrpc.Handler) *upstream.Caller {
	c := r.Caller.WithoutSession()
	c.Era, c.Offer = mcp.Modern, mcp.Offer{}
	if !r.Caller.Offer.Empty() {
		c.Offer, c.Session = r.Caller.Offer, r.Session()
		c.Offer.Extensions = nil
	}
	if outside != nil {
		c.Outside = func(string) jsonrpc.Handler { return outside }
	}
	return c
}

// beginTask calls a tool of a legacy server as a task for a modern client.
func (r *Translator) beginTask(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	resp, begun, err := r.newBridge(ctx, req.Back).Begin(ctx, req)
	switch {
	case err != nil || resp.Err != nil:
	case begun:
		resp.Result = r.Link.Rename(resp.Result)
	default:
		r.Adapt(resp)
	}
	return resp, err
}

// Adopt returns a new bridge of a task that was begun before this process
// started.
func (r *Translator) Adopt(ctx context.Context, id string) (*Bridge, error) {
	return r.newBridge(ctx, nil).Adopt(ctx, id)
}
