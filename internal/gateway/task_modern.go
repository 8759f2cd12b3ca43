package gateway

import (
	"context"
	"fmt"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// resultWait is how long a server may take to hand over the result of a task
// that it says has ended.
const resultWait = 5 * time.Second

// bridgeOf is the bridge of a task that a modern client names. A task that was
// begun before this process gets a new one.
func (s *Session) bridgeOf(ctx context.Context, p party, t *target) (*bridgedTask, error) {
	key := taskKey{s.opening.Schema, t.upstream.Name(), t.name}
	if known, _ := s.gw.tasks.of(key); known.bridge != nil {
		return known.bridge, nil
	}
	b := s.newBridge(ctx, p, t.upstream, nil)
	b.begun(t.name, fmt.Appendf(nil, `{"taskId":%s}`, jsonrpc.Quote(t.name)))
	if err := b.refresh(ctx); err != nil {
		b.close()
		return nil, err
	}
	other := s.gw.tasks.bridge(key, s.opening.Who.ID, func() *bridgedTask { return b })
	if other != b {
		b.close()
	}
	if other == nil {
		return nil, tooManyTasks()
	}
	return other, nil
}

// modernTask answers what a modern client asks about a task of a legacy server.
func (s *Session) modernTask(ctx context.Context, c *Call, t *target) (*jsonrpc.Response, error) {
	if !c.client.caller.Offer.TakesTasks() {
		return nil, needsTasks()
	}
	b, err := s.bridgeOf(ctx, c.client, t)
	if err != nil {
		return nil, err
	}
	switch c.Method {
	case mcp.MethodTasksUpdate:
		b.questions.Give(jsonrpc.Get(t.params, "inputResponses"))
		return empty(), nil
	case mcp.MethodTasksCancel:
		return s.cancelBridged(ctx, b)
	case mcp.MethodTasksGet:
		return s.lookAtTask(ctx, b)
	}
	return nil, jsonrpc.MethodNotFound(c.Method, "not a method of "+mcp.LatestModern)
}

func (s *Session) lookAtTask(ctx context.Context, b *bridgedTask) (*jsonrpc.Response, error) {
	select {
	case <-b.done:
	default:
		if err := b.refresh(ctx); err != nil {
			return nil, err
		}
		if mcp.TaskEnded(b.status()) {
			b.await(ctx)
		}
	}
	return &jsonrpc.Response{Result: s.nameTasks(b.u.Name(), b.detailed())}, nil
}

// await waits for the result of a task that has ended.
func (b *bridgedTask) await(ctx context.Context) {
	timer := time.NewTimer(resultWait)
	defer timer.Stop()
	select {
	case <-b.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (s *Session) cancelBridged(ctx context.Context, b *bridgedTask) (*jsonrpc.Response, error) {
	params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(b.key.id), "taskId")
	resp, err := s.callServer(ctx, party{caller: b.caller, rules: mcp.Rules(mcp.LatestModern)}, b.u, &jsonrpc.Request{Method: mcp.MethodTasksCancel, Params: params})
	if err != nil || resp.Err != nil {
		return resp, err
	}
	if b.update(resp.Result) {
		b.changed()
	}
	return empty(), nil
}

// needsTasks refuses a client that does not take tasks.
func needsTasks() *jsonrpc.Error {
	return jsonrpc.Errorf(mcp.CodeCapabilityMissing, "Missing required client capability").WithData(map[string]any{
		"requiredCapabilities": map[string]any{"extensions": map[string]any{mcp.TasksExtension: map[string]any{}}},
	})
}

func tooManyTasks() error {
	return mcp.Failure(mcp.Overloaded, "", "too many tasks wait for their ends")
}
