package gateway

import (
	"context"
	"sync"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/modern"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// A bridgedTask is a task of a legacy server as its modern client sees it. The
// server tells the result, and asks, while tasks/result waits; the client looks
// at the task whenever it likes. So tasks/result waits here from the beginning,
// and its outcome is kept for the client.
type bridgedTask struct {
	s      *Session
	u      *upstream.Upstream
	caller *upstream.Caller // the task lives on the connection that it was begun on
	ctx    context.Context
	cancel context.CancelCauseFunc
	before jsonrpc.Handler // hears the server until there is a task; may be nil
	done   chan struct{}   // closed once resp and err are set

	questions modern.Questions

	mu       sync.Mutex
	key      taskKey // its id is empty until there is a task
	task     []byte  // as the server told it last
	message  string  // the latest progress or status message
	resp     *jsonrpc.Response
	err      error
	watchers map[*listener]struct{}
}

func (s *Session) newBridge(ctx context.Context, p party, u *upstream.Upstream, before jsonrpc.Handler) *bridgedTask {
	b := &bridgedTask{s: s, u: u, before: before, done: make(chan struct{}), key: taskKey{schema: s.opening.Schema, server: u.Name()}}
	b.caller = s.taskCaller(p, b)
	b.ctx, b.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(s.gw.tasks.life, func() { b.cancel(modern.ErrExpired) })
	return b
}

// taskCaller is who calls a legacy server on behalf of a modern client while a
// task runs: it has the same connection for every request.
func (s *Session) taskCaller(p party, outside jsonrpc.Handler) *upstream.Caller {
	c := &upstream.Caller{Principal: p.caller.Principal, Era: mcp.Modern, Version: p.caller.Version, Info: p.caller.Info, LogLevel: p.caller.LogLevel}
	if !p.caller.Offer.Empty() {
		c.Offer, c.Session = p.caller.Offer, "task-"+formatID(s.gw.ids.Add(1))
		c.Offer.Extensions = nil
	}
	if outside != nil {
		c.Outside = func(string) jsonrpc.Handler { return outside }
	}
	return c
}

// beginTask calls a tool of a legacy server as a task for a modern client.
func (s *Session) beginTask(ctx context.Context, p party, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	b := s.newBridge(ctx, p, u, req.Back)
	begun := jsonrpc.Request{Method: req.Method, Params: jsonrpc.Set(req.Params, []byte(`{}`), "task"), Back: b}
	resp, err := s.callServer(ctx, party{caller: b.caller, rules: p.rules}, u, &begun)
	if err != nil || resp.Err != nil {
		b.close()
		return resp, err
	}
	told := jsonrpc.Get(resp.Result, "task")
	id, ok := jsonrpc.GetString(told, "taskId")
	if !ok {
		b.close()
		s.adapt(p.rules, u, resp)
		return resp, nil // it was done at once
	}
	task := b.begun(id, told)
	if s.gw.tasks.bridge(b.key, s.opening.Who.ID, func() *bridgedTask { return b }) == nil {
		b.close()
		return nil, tooManyTasks()
	}
	resp.Release()
	result := jsonrpc.Set(mcp.ModernTask(task), []byte(`"task"`), "resultType")
	return &jsonrpc.Response{Result: s.nameTasks(u.Name(), result)}, nil
}

// begun keeps what the server told of the task, and returns it.
func (b *bridgedTask) begun(id string, told []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.key.id, b.task = id, append([]byte(nil), told...)
	return b.task
}

// close ends the connection that the task had to itself.
func (b *bridgedTask) close() {
	b.cancel(nil)
	b.caller.Close()
}

// run waits for the end of the task and keeps its result.
func (b *bridgedTask) run() {
	defer b.close()
	params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(b.key.id), "taskId")
	p := party{caller: b.caller, rules: mcp.Rules(mcp.LatestModern)}
	resp, err := b.s.callServer(b.ctx, p, b.u, &jsonrpc.Request{Method: mcp.MethodTasksResult, Params: params, Back: b})
	for err != nil && b.ctx.Err() == nil && b.refresh(b.ctx) == nil && !mcp.TaskEnded(b.status()) {
		// It was silent for too long for a call, not for a task.
		resp, err = b.s.callServer(b.ctx, p, b.u, &jsonrpc.Request{Method: mcp.MethodTasksResult, Params: params, Back: b})
	}
	if b.ctx.Err() == nil {
		b.refresh(b.ctx)
	}
	size := 0
	if err == nil {
		resp = &jsonrpc.Response{Result: append([]byte(nil), resp.Result...), Err: resp.Err}
		size = len(resp.Result)
	}
	b.mu.Lock()
	b.resp, b.err = resp, err
	b.mu.Unlock()
	close(b.done)
	b.s.gw.tasks.ended()
	b.s.gw.tasks.keep(b.key, size)
	b.changed()
}

// refresh asks the server how the task is.
func (b *bridgedTask) refresh(ctx context.Context) error {
	params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(b.key.id), "taskId")
	resp, err := b.s.callServer(ctx, party{caller: b.caller, rules: mcp.Rules(mcp.LatestModern)}, b.u, &jsonrpc.Request{Method: mcp.MethodTasksGet, Params: params})
	if err != nil {
		return err
	}
	if resp.Err != nil {
		return resp.Err
	}
	b.update(resp.Result)
	return nil
}

// update takes over what the server tells of the task; true when that is new.
func (b *bridgedTask) update(told []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, _ := jsonrpc.GetString(told, "taskId")
	if id != b.key.id || id == "" {
		return false
	}
	is, _ := jsonrpc.GetString(told, "statusMessage")
	was, _ := jsonrpc.GetString(b.task, "statusMessage")
	if is != was {
		b.message = is
	}
	changed := is != was || string(jsonrpc.Get(told, "status")) != string(jsonrpc.Get(b.task, "status"))
	b.task = append([]byte(nil), told...)
	if status, _ := jsonrpc.GetString(told, "status"); status == "cancelled" {
		b.cancel(nil) // some servers leave tasks/result unanswered then
	}
	return changed
}

func (b *bridgedTask) status() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	status, _ := jsonrpc.GetString(b.task, "status")
	return status
}

// isTask says whether the server has made a task of the call.
func (b *bridgedTask) isTask() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.key.id != ""
}

// Handle keeps a question of the server until the client has answered it.
func (b *bridgedTask) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if !b.isTask() {
		if b.before == nil {
			return nil, jsonrpc.MethodNotFound(req.Method, "the client does not offer this")
		}
		return b.before.Handle(ctx, from, req)
	}
	defer b.changed()
	return b.questions.Ask(ctx, req, b.changed)
}

// HandleNotification keeps what a server says of its task: the extension has no
// progress, but a message that tells how far it is.
func (b *bridgedTask) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	switch {
	case !b.isTask():
		if b.before != nil {
			b.before.HandleNotification(ctx, from, n)
		}
	case n.Method == mcp.NotificationProgress:
		b.mu.Lock()
		b.message = progressText(n.Params)
		b.mu.Unlock()
		b.changed()
	case n.Method == mcp.NotificationTaskStatus:
		if b.update(n.Params) {
			b.changed()
		}
	}
}

// progressText writes progress as a message, "2/5 copying".
func progressText(params []byte) string {
	text := string(jsonrpc.Get(params, "progress"))
	if total := jsonrpc.Get(params, "total"); total != nil {
		text += "/" + string(total)
	}
	if message, _ := jsonrpc.GetString(params, "message"); message != "" {
		text += " " + message
	}
	return text
}

// detailed is the task as the extension tells it, with its questions, its result
// or its error, and the id that its server gave it.
func (b *bridgedTask) detailed() []byte {
	inputs := b.questions.Inputs()
	b.mu.Lock()
	defer b.mu.Unlock()
	task := mcp.ModernTask(b.task)
	if b.message != "" {
		task = jsonrpc.Set(task, jsonrpc.Quote(b.message), "statusMessage")
	}
	set := func(status, member string, value []byte) []byte {
		task = jsonrpc.Set(task, jsonrpc.Quote(status), "status")
		if member != "" {
			task = jsonrpc.Set(task, value, member)
		}
		return task
	}
	status, _ := jsonrpc.GetString(task, "status")
	switch {
	case status == "cancelled":
		return task
	case b.resp == nil && b.err == nil && inputs != nil:
		return set("input_required", "inputRequests", inputs)
	case b.resp == nil && b.err == nil:
		return set("working", "", nil)
	case b.err != nil:
		wire, ok := asWire(b.err)
		if !ok {
			wire = jsonrpc.Errorf(jsonrpc.CodeInternal, "%v", b.err)
		}
		return set("failed", "error", jsonrpc.AppendError(nil, modern.Error(wire)))
	case b.resp.Err != nil:
		return set("failed", "error", jsonrpc.AppendError(nil, modern.Error(b.resp.Err)))
	}
	result := b.s.look().all.RewriteURIs(b.u.Name(), withoutTask(append([]byte(nil), b.resp.Result...)))
	return set("completed", "result", catalog.UplevelResult(mcp.LatestModern, result, false))
}

// changed tells those who watch the task.
func (b *bridgedTask) changed() {
	b.mu.Lock()
	watchers := make([]*listener, 0, len(b.watchers))
	for l := range b.watchers {
		watchers = append(watchers, l)
	}
	b.mu.Unlock()
	if len(watchers) == 0 {
		return
	}
	n := &jsonrpc.Notification{Method: mcp.NotificationTasks, Params: b.detailed()}
	for _, l := range watchers {
		l.Updated(context.WithoutCancel(b.ctx), b.u.Name(), n)
	}
}

// watch makes a listener hear about the task.
func (b *bridgedTask) watch(l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watchers == nil {
		b.watchers = make(map[*listener]struct{})
	}
	b.watchers[l] = struct{}{}
}

func (b *bridgedTask) unwatch(l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.watchers, l)
}
