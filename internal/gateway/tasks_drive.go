package gateway

import (
	"context"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// perform calls a tool of a server. One that runs as a task alone is waited for
// on behalf of a client whose version has no such tasks: to it, it is a tool
// like any other.
func (s *Session) perform(ctx context.Context, p party, u *upstream.Upstream, item *catalog.Item, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	hasTasks := p.rules.Era == mcp.Legacy && p.rules.SampleTools
	if item == nil || !item.NeedsTask || hasTasks || jsonrpc.Get(req.Params, "task") != nil {
		return s.exchange(ctx, p, u, req)
	}
	if p.rules.Era == mcp.Modern {
		// The task lives in the connection that it was begun on: this caller
		// has the same one for every request.
		p.caller = &upstream.Caller{Principal: p.caller.Principal, Era: mcp.Modern, Version: p.caller.Version, Info: p.caller.Info}
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
	if jsonrpc.Get(result, "_meta", relatedTask) == nil {
		return result
	}
	result = jsonrpc.Set(result, nil, "_meta", relatedTask)
	for range jsonrpc.Members(jsonrpc.Get(result, "_meta")) {
		return result
	}
	return jsonrpc.Set(result, nil, "_meta")
}
