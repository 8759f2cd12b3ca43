package gateway

import (
	"context"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// perform calls a tool of a server. Where the client has no tasks, or another
// dialect of them than the server, the call is translated: it becomes a task of
// the client's dialect, or the task is waited for, so that to the client it is a
// tool like any other.
func (s *Session) perform(ctx context.Context, c *Call, t *target, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	p, u := c.client, t.upstream
	era, has := u.Tasks(ctx, p.caller)
	if !has {
		return s.exchange(ctx, p, u, req)
	}
	direct := c.Via == s.opening.Via // otherwise the answer is put into another one
	asked := jsonrpc.Get(req.Params, "task") != nil
	switch {
	case era == mcp.Modern && p.rules.Era == mcp.Legacy && asked && direct:
		return s.askForTask(ctx, p, u, req)
	case era == mcp.Modern && (p.rules.Era == mcp.Legacy || !direct):
		return s.driveModern(ctx, p, u, req)
	case era == mcp.Modern || t.item == nil || asked:
		return s.exchange(ctx, p, u, req)
	case p.rules.Era == mcp.Modern && direct && p.caller.Offer.TakesTasks() && mayBeTask(t.item):
		return s.beginTask(ctx, p, u, req)
	case !t.item.NeedsTask || p.rules.Era == mcp.Legacy && p.rules.SampleTools && direct:
		return s.exchange(ctx, p, u, req)
	}
	return s.drive(ctx, p, u, req)
}

// mayBeTask says whether a tool of 2025-11-25 may run as a task.
func mayBeTask(item *catalog.Item) bool {
	support, _ := jsonrpc.GetString(item.Raw, "execution", "taskSupport")
	return support == "required" || support == "optional"
}

// drive waits for a tool of a legacy server that runs as a task alone.
func (s *Session) drive(ctx context.Context, p party, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if p.rules.Era == mcp.Modern {
		p.caller = s.taskCaller(p, nil)
		defer p.caller.Close()
	}
	begun := *req
	begun.Params = jsonrpc.Set(req.Params, []byte(`{}`), "task")
	resp, err := s.callServer(ctx, p, u, &begun)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	id := jsonrpc.Get(resp.Result, "task", "taskId")
	if id == nil {
		return resp, nil // it was done at once
	}
	params := jsonrpc.Set([]byte(`{}`), id, "taskId")
	resp.Release()
	resp, err = s.exchange(ctx, p, u, &jsonrpc.Request{Method: mcp.MethodTasksResult, Params: params, Back: req.Back})
	if err != nil && ctx.Err() != nil {
		s.cancelTask(ctx, p, u, params)
	}
	if err == nil && resp.Err == nil {
		resp.Result = withoutTask(resp.Result)
	}
	return resp, err
}

// driveModern calls a tool of a modern server for a client that is not told of
// tasks, and waits for the task where the tool runs as one alone.
func (s *Session) driveModern(ctx context.Context, p party, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	plain := p
	if p.caller.Offer.TakesTasks() {
		plain = takesTasks(p)
		plain.caller.Offer.Extensions = jsonrpc.Set(plain.caller.Offer.Extensions, nil, mcp.TasksExtension)
	}
	resp, err := s.exchange(ctx, plain, u, req)
	if err != nil || resp.Err == nil || resp.Err.Code != mcp.CodeCapabilityMissing ||
		jsonrpc.Get(resp.Err.Data, "requiredCapabilities", "extensions", mcp.TasksExtension) == nil {
		return resp, err
	}
	// The server says that it did not run.
	resp, err = s.callServer(ctx, takesTasks(p), u, req)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	if kind, _ := jsonrpc.GetString(resp.Result, "resultType"); kind == "task" {
		id, _ := jsonrpc.GetString(resp.Result, "taskId")
		resp, err = s.followTask(ctx, p, u, id, jsonrpc.Get(req.Params, "_meta", "progressToken"))
		if err != nil && ctx.Err() != nil {
			s.cancelTask(ctx, takesTasks(p), u, aboutTask(mcp.MethodTasksCancel, id).Params)
		}
	}
	if err == nil && resp.Err == nil {
		s.adapt(p.rules, u, resp)
	}
	return resp, err
}

// cancelTask ends a task whose client has gone.
func (s *Session) cancelTask(ctx context.Context, p party, u *upstream.Upstream, params []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
	defer cancel()
	if _, err := s.callServer(ctx, p, u, &jsonrpc.Request{Method: mcp.MethodTasksCancel, Params: params}); err != nil {
		s.gw.log.Debug("cancelling a task", "upstream", u.Name(), "err", err)
	}
}

// withoutTask removes the task that a result belongs to.
func withoutTask(result []byte) []byte {
	if jsonrpc.Get(result, "_meta", mcp.RelatedTask) == nil {
		return result
	}
	result = jsonrpc.Set(result, nil, "_meta", mcp.RelatedTask)
	for range jsonrpc.Members(jsonrpc.Get(result, "_meta")) {
		return result
	}
	return jsonrpc.Set(result, nil, "_meta")
}
