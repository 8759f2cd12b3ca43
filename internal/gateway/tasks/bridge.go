package tasks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/modern"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Bridge shows a task of a legacy server to its modern client. The server
// sends the result, and its questions, while a tasks/result request waits; the
// client polls whenever it likes. So the bridge sends tasks/result at the
// beginning and keeps the outcome for the client.
type Bridge struct {
	book    *Book
	link    Link // its Back handles the messages of the server until the task exists
	rewrite func(result []byte) []byte
	hangUp  func()
	ctx     context.Context
	cancel  context.CancelCauseFunc
	unbind  func() bool   // ends the tie to the life of the book, which would keep the bridge
	done    chan struct{} // closed once resp and err are set

	questions modern.Questions

	mu       sync.Mutex
	key      Key    // its ID is empty until the task exists
	task     []byte // as the server sent it last
	message  string // the latest progress or status message
	resp     *jsonrpc.Response
	err      error
	watchers map[Watcher]struct{}
}

// A Watcher is notified of changes of a task. It must be comparable.
type Watcher interface {
	Updated(ctx context.Context, server string, n *jsonrpc.Notification)
}

// NewBridge returns a bridge without a task. The task is bound to the
// connection on which it begins: link must use only that connection, and hangUp
// closes it. rewrite replaces the URIs in a result by the URIs that clients
// know.
func (o *Book) NewBridge(ctx context.Context, link Link, rewrite func([]byte) []byte, hangUp func()) *Bridge {
	b := &Bridge{book: o, link: link, rewrite: rewrite, hangUp: hangUp, done: make(chan struct{}), key: Key{Schema: link.Schema, Server: link.Server}}
	b.ctx, b.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	b.unbind = context.AfterFunc(o.life, func() { b.cancel(modern.ErrExpired) })
	return b
}

// Begin calls a tool of the server as a task for its modern client. If the
// server makes no task of the call, begun is false and resp is the response of
// the tool.
func (b *Bridge) Begin(ctx context.Context, req *jsonrpc.Request) (resp *jsonrpc.Response, begun bool, err error) {
	asks := jsonrpc.Request{Method: req.Method, Params: jsonrpc.Set(req.Params, []byte(`{}`), "task"), Back: b}
	resp, err = b.link.Call(ctx, &asks)
	if err != nil || resp.Err != nil {
		b.close()
		return resp, false, err
	}
	told := jsonrpc.Get(resp.Result, "task")
	id, ok := jsonrpc.GetString(told, "taskId")
	if !ok {
		b.close()
		return resp, false, nil // the server returned the result without a task
	}
	task := b.store(id, told)
	if b.book.bridge(b.key, b.link.Principal, func() *Bridge { return b }) == nil {
		b.close()
		return nil, false, tooMany()
	}
	resp.Release()
	return &jsonrpc.Response{Result: jsonrpc.Set(mcp.ModernTask(task), []byte(`"task"`), "resultType")}, true, nil
}

// Bridge returns the bridge of a task, or nil if it has none.
func (o *Book) Bridge(k Key) *Bridge {
	t, _ := o.of(k)
	return t.bridge
}

// Adopt makes b the bridge of a task that was begun before this process
// started. It returns the bridge of the task, which may be another one.
func (b *Bridge) Adopt(ctx context.Context, id string) (*Bridge, error) {
	b.store(id, fmt.Appendf(nil, `{"taskId":%s}`, jsonrpc.Quote(id)))
	if err := b.refresh(ctx); err != nil {
		b.close()
		return nil, err
	}
	other := b.book.bridge(b.key, b.link.Principal, func() *Bridge { return b })
	if other != b {
		b.close()
	}
	if other == nil {
		return nil, tooMany()
	}
	return other, nil
}

func tooMany() error {
	return mcp.Failure(mcp.Overloaded, "", "too many tasks wait for their ends")
}

// store stores the task as the server sent it, and returns it.
func (b *Bridge) store(id string, told []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.key.ID, b.task = id, append([]byte(nil), told...)
	return b.task
}

// close closes the connection of the task.
func (b *Bridge) close() {
	b.cancel(nil)
	b.unbind()
	b.hangUp()
}

// run waits for the end of the task and keeps its result.
func (b *Bridge) run() {
	defer b.close()
	params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(b.key.ID), "taskId")
	resp, err := b.link.Call(b.ctx, &jsonrpc.Request{Method: mcp.MethodTasksResult, Params: params, Back: b})
	for err != nil && b.ctx.Err() == nil && b.refresh(b.ctx) == nil && !mcp.TaskEnded(b.status()) {
		// The server was silent for longer than a call may take, but a task
		// may.
		resp, err = b.link.Call(b.ctx, &jsonrpc.Request{Method: mcp.MethodTasksResult, Params: params, Back: b})
	}
	if b.ctx.Err() == nil {
		b.refresh(b.ctx)
	}
	if err == nil {
		resp = &jsonrpc.Response{Result: append([]byte(nil), resp.Result...), Err: resp.Err}
	}
	b.mu.Lock()
	b.resp, b.err = resp, err
	b.mu.Unlock()
	close(b.done)
	b.book.ended()
	b.book.keep(b.key, sizeOf(resp, err))
	b.changed()
}

// refresh asks the server for the state of the task.
func (b *Bridge) refresh(ctx context.Context) error {
	resp, err := b.link.Call(ctx, About(mcp.MethodTasksGet, b.key.ID))
	if err != nil {
		return err
	}
	if resp.Err != nil {
		return resp.Err
	}
	b.update(resp.Result)
	return nil
}

// update stores the state of the task that the server sent. It reports whether
// the state has changed.
func (b *Bridge) update(told []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, _ := jsonrpc.GetString(told, "taskId")
	if id != b.key.ID || id == "" {
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
		b.cancel(nil) // some servers do not answer tasks/result then
	}
	return changed
}

func (b *Bridge) status() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	status, _ := jsonrpc.GetString(b.task, "status")
	return status
}

// isTask reports whether the server has made a task of the call.
func (b *Bridge) isTask() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.key.ID != ""
}

// Handle keeps a question of the server until the client has answered it.
func (b *Bridge) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if !b.isTask() {
		if b.link.Back == nil {
			return nil, jsonrpc.MethodNotFound(req.Method, "the client does not offer this")
		}
		return b.link.Back.Handle(ctx, from, req)
	}
	defer b.changed()
	return b.questions.Ask(ctx, req, b.changed)
}

// HandleNotification stores the progress that a server reports for its task.
// The extension has no progress notifications, so progress becomes a status
// message.
func (b *Bridge) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	switch {
	case !b.isTask():
		if b.link.Back != nil {
			b.link.Back.HandleNotification(ctx, from, n)
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

// detailed returns the task in the format of the extension, with its questions,
// its result or its error, and with the id of its server.
func (b *Bridge) detailed() []byte {
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
		var wire *jsonrpc.Error
		if !errors.As(b.err, &wire) {
			wire = jsonrpc.Errorf(jsonrpc.CodeInternal, "%v", b.err)
		}
		return set("failed", "error", jsonrpc.AppendError(nil, modern.Error(wire)))
	case b.resp.Err != nil:
		return set("failed", "error", jsonrpc.AppendError(nil, modern.Error(b.resp.Err)))
	}
	result := b.rewrite(Without(append([]byte(nil), b.resp.Result...)))
	return set("completed", "result", catalog.UplevelResult(mcp.LatestModern, result, false))
}

// changed notifies the watchers of the task.
func (b *Bridge) changed() {
	b.mu.Lock()
	watchers := make([]Watcher, 0, len(b.watchers))
	for w := range b.watchers {
		watchers = append(watchers, w)
	}
	b.mu.Unlock()
	if len(watchers) == 0 {
		return
	}
	n := &jsonrpc.Notification{Method: mcp.NotificationTasks, Params: b.detailed()}
	for _, w := range watchers {
		w.Updated(context.WithoutCancel(b.ctx), b.link.Server, n)
	}
}

// Watch adds a watcher of the task.
func (b *Bridge) Watch(w Watcher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watchers == nil {
		b.watchers = make(map[Watcher]struct{})
	}
	b.watchers[w] = struct{}{}
}

// Unwatch removes a watcher.
func (b *Bridge) Unwatch(w Watcher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.watchers, w)
}

// resultWait is how long a server may take to send the result of a task after
// it has reported the end of the task.
const resultWait = 5 * time.Second

// Answer answers a request of the modern client about the task. The result
// contains the server's id of the task.
func (b *Bridge) Answer(ctx context.Context, method string, params []byte) (*jsonrpc.Response, error) {
	switch method {
	case mcp.MethodTasksUpdate:
		b.questions.Give(jsonrpc.Get(params, "inputResponses"))
		return empty(), nil
	case mcp.MethodTasksCancel:
		return b.askToEnd(ctx)
	case mcp.MethodTasksGet:
		return b.look(ctx)
	}
	return nil, jsonrpc.MethodNotFound(method, "not a method of "+mcp.LatestModern)
}

func empty() *jsonrpc.Response { return &jsonrpc.Response{Result: []byte(`{}`)} }

func (b *Bridge) look(ctx context.Context) (*jsonrpc.Response, error) {
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
	return &jsonrpc.Response{Result: b.detailed()}, nil
}

// await waits for the result of a task that has ended, up to resultWait.
func (b *Bridge) await(ctx context.Context) {
	select {
	case <-b.done:
	case <-time.After(resultWait):
	case <-ctx.Done():
	}
}

func (b *Bridge) askToEnd(ctx context.Context) (*jsonrpc.Response, error) {
	resp, err := b.link.Call(ctx, About(mcp.MethodTasksCancel, b.key.ID))
	if err != nil || resp.Err != nil {
		return resp, err
	}
	if b.update(resp.Result) {
		b.changed()
	}
	return empty(), nil
}
