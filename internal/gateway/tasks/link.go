package tasks

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"mcp-all-in-one/internal/gateway/modern"
	"mcp-all-in-one/internal/gateway/refusal"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/backoff"
)

const (
	minPoll, maxPoll = 20 * time.Millisecond, 5 * time.Second
	defaultPoll      = time.Second
	// cancelWait is how long to wait for the end of a cancelled task. The
	// extension does not promise that the task ends, but 2025-11-25 returns the
	// ended task.
	cancelWait = 2 * time.Second
	// giveUp bounds the request that cancels a task after its client has
	// disconnected.
	giveUp = 2 * time.Second
)

// A Link connects a client to the server of its tasks.
type Link struct {
	Schema, Server string
	Principal      string
	Version        string // of the client
	// Call calls the server on behalf of the client.
	Call func(context.Context, *jsonrpc.Request) (*jsonrpc.Response, error)
	// Back handles the questions and notifications of the server; nil to refuse
	// them.
	Back jsonrpc.Handler
	// Rename replaces the task ids in a message of the server by the ids that
	// the client knows.
	Rename func([]byte) []byte
	// Enter counts one more running script of the principal, and leave counts
	// it no more; for scripts only.
	Enter func() (leave func(), err error)
	// Sources returns the servers from which the script has something so far; for
	// scripts only.
	Sources func() []string
	Log     *slog.Logger
}

// For a legacy client and a modern server, the dialects differ as follows. The
// modern server decides which calls are tasks and reports everything in
// tasks/get. The legacy client asks for a task, and for its result with
// tasks/result, during which it answers questions.

// Ask calls a tool of a modern server for a legacy client that wants a task,
// and returns the task with the id of the server. If the server returns the
// result at once, Ask returns a task that has ended.
func (o *Book) Ask(ctx context.Context, l Link, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	wanted := &jsonrpc.Request{Method: req.Method, Params: jsonrpc.Set(req.Params, nil, "task"), Back: req.Back}
	resp, err := l.Call(ctx, wanted)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	key := Key{l.Schema, l.Server, ""}
	token := jsonrpc.Get(req.Params, "_meta", "progressToken")
	var told []byte
	if kind, _ := jsonrpc.GetString(resp.Result, "resultType"); kind == "task" {
		key.ID, _ = jsonrpc.GetString(resp.Result, "taskId")
		told = jsonrpc.Set(mcp.LegacyTask(append([]byte(nil), resp.Result...)), nil, "_meta")
		o.note(key, l.Principal, func(t *task) { t.token = append([]byte(nil), token...) })
	} else {
		key.ID = modern.RandomID()
		done := &jsonrpc.Response{Result: append([]byte(nil), resp.Result...)}
		o.note(key, l.Principal, func(t *task) { t.done = done })
		o.keep(key, len(done.Result))
		known, _ := o.of(key)
		told = ended(key.ID, known.at)
	}
	resp.Release()
	// A task of 2025-11-25 begins in this state, even if it ends at once.
	told = jsonrpc.Set(told, []byte(`"working"`), "status")
	return &jsonrpc.Response{Result: jsonrpc.Set([]byte(`{}`), told, "task")}, nil
}

// ended returns a task whose call was answered at once.
func ended(id string, at time.Time) []byte {
	when := jsonrpc.Quote(at.UTC().Format(time.RFC3339Nano))
	return fmt.Appendf(nil, `{"taskId":%s,"status":"completed","createdAt":%s,"lastUpdatedAt":%s,"ttl":%d,"pollInterval":%d}`,
		jsonrpc.Quote(id), when, when, keptResult.Milliseconds(), minPoll.Milliseconds())
}

// Answer answers a legacy client's request about a task of a modern server:
// with its result, or with the task as the server reports it.
func (o *Book) Answer(ctx context.Context, l Link, id, method string) (*jsonrpc.Response, error) {
	known, _ := o.of(Key{l.Schema, l.Server, id})
	switch {
	case method == mcp.MethodTasksResult && known.done != nil:
		return &jsonrpc.Response{Result: append([]byte(nil), known.done.Result...)}, nil
	case method == mcp.MethodTasksResult:
		return l.Follow(ctx, id, known.token)
	case known.done != nil:
		return &jsonrpc.Response{Result: ended(id, known.at)}, nil
	case method == mcp.MethodTasksGet:
		return l.get(ctx, id)
	case method == mcp.MethodTasksCancel:
		return l.end(ctx, id)
	}
	return nil, jsonrpc.MethodNotFound(method, "not a method of "+l.Version)
}

// get asks a modern server for the state of a task.
func (l Link) get(ctx context.Context, id string) (*jsonrpc.Response, error) {
	return l.Call(ctx, About(mcp.MethodTasksGet, id))
}

// About returns a request about a task.
func About(method, id string) *jsonrpc.Request {
	return &jsonrpc.Request{Method: method, Params: jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(id), "taskId")}
}

// end cancels a task and returns its state after that.
func (l Link) end(ctx context.Context, id string) (*jsonrpc.Response, error) {
	resp, err := l.Call(ctx, About(mcp.MethodTasksCancel, id))
	if err != nil || resp.Err != nil {
		return resp, err
	}
	late := time.Now().Add(cancelWait)
	for {
		resp, err = l.get(ctx, id)
		if err != nil || resp.Err != nil {
			return resp, err
		}
		if status, _ := jsonrpc.GetString(resp.Result, "status"); mcp.TaskEnded(status) || time.Now().After(late) {
			return resp, nil
		}
		if err := backoff.Wait(ctx, 2*minPoll); err != nil {
			return nil, err
		}
	}
}

// Follow waits for the end of a task of a modern server. Input requests of the
// task become questions to the client, and status messages become progress
// notifications.
func (l Link) Follow(ctx context.Context, id string, token []byte) (*jsonrpc.Response, error) {
	asked := make(map[string]bool)
	steps, message := 0, ""
	for {
		resp, err := l.get(ctx, id)
		if err != nil || resp.Err != nil {
			return resp, err
		}
		if is, _ := jsonrpc.GetString(resp.Result, "statusMessage"); is != message && token != nil && l.Back != nil {
			steps, message = steps+1, is
			l.Back.HandleNotification(ctx, nil, &jsonrpc.Notification{Method: mcp.NotificationProgress,
				Params: fmt.Appendf(nil, `{"progressToken":%s,"progress":%d,"message":%s}`, token, steps, jsonrpc.Quote(is))})
		}
		switch status, _ := jsonrpc.GetString(resp.Result, "status"); status {
		case "completed":
			return &jsonrpc.Response{Result: append([]byte(nil), jsonrpc.AsObject(jsonrpc.Get(resp.Result, "result"))...)}, nil
		case "failed":
			return &jsonrpc.Response{Err: taskError(jsonrpc.Get(resp.Result, "error"))}, nil
		case "cancelled":
			return nil, jsonrpc.InvalidParams("task '%s' was cancelled", refusal.Clip(id))
		case "input_required":
			if refused := l.answer(ctx, id, jsonrpc.Get(resp.Result, "inputRequests"), asked); refused != nil {
				l.Cancel(ctx, About(mcp.MethodTasksCancel, id).Params)
				return nil, refused
			}
		}
		if err := backoff.Wait(ctx, pollEvery(resp.Result)); err != nil {
			return nil, err
		}
	}
}

// pollEvery returns the poll interval that the server wants, bounded.
func pollEvery(task []byte) time.Duration {
	n, err := strconv.ParseInt(string(jsonrpc.Get(task, "pollIntervalMs")), 10, 64)
	if err != nil {
		return defaultPoll
	}
	return min(max(time.Duration(n)*time.Millisecond, minPoll), maxPoll)
}

// taskError returns the error of a failed task.
func taskError(raw []byte) *jsonrpc.Error {
	code, err := strconv.ParseInt(string(jsonrpc.Get(raw, "code")), 10, 64)
	if err != nil {
		code = jsonrpc.CodeInternal
	}
	message, _ := jsonrpc.GetString(raw, "message")
	return &jsonrpc.Error{Code: code, Message: message, Data: append([]byte(nil), jsonrpc.Get(raw, "data")...)}
}

// answer asks the client all new questions of a task, in parallel, and sends
// the answers to the server. It returns an error if the client refuses a
// question whose answer cannot express a refusal.
func (l Link) answer(ctx context.Context, id string, questions []byte, asked map[string]bool) error {
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		answers = []byte(`{}`)
		refused error
	)
	for key, q := range jsonrpc.Members(jsonrpc.AsObject(questions)) {
		if asked[key] {
			continue
		}
		asked[key] = true
		method, _ := jsonrpc.GetString(q, "method")
		params := relate(jsonrpc.AsObject(jsonrpc.Get(q, "params")), id)
		req := &jsonrpc.Request{Method: method, Params: l.Rename(params)}
		wg.Go(func() {
			answer, err := l.ask(ctx, req)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refused = err
				return
			}
			answers = jsonrpc.Set(answers, answer, key)
		})
	}
	wg.Wait()
	if refused != nil || string(answers) == "{}" {
		return refused
	}
	update := About(mcp.MethodTasksUpdate, id)
	update.Params = jsonrpc.Set(update.Params, answers, "inputResponses")
	resp, err := l.Call(ctx, update)
	if err == nil && resp.Err != nil {
		err = resp.Err
	}
	return err
}

// ask asks the client a question of a task.
func (l Link) ask(ctx context.Context, req *jsonrpc.Request) ([]byte, error) {
	if l.Back == nil {
		return nil, jsonrpc.MethodNotFound(req.Method, "the client does not offer this")
	}
	resp, err := l.Back.Handle(ctx, nil, req)
	if err == nil && resp.Err != nil {
		err = resp.Err
	}
	if err == nil {
		// The server does not need the reference to the task.
		return Without(append([]byte(nil), resp.Result...)), nil
	}
	if req.Method == mcp.MethodElicit && ctx.Err() == nil {
		return []byte(`{"action":"cancel"}`), nil
	}
	return nil, err
}

// Cancel cancels a task after its client has disconnected.
func (l Link) Cancel(ctx context.Context, params []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUp)
	defer cancel()
	if _, err := l.Call(ctx, &jsonrpc.Request{Method: mcp.MethodTasksCancel, Params: params}); err != nil {
		l.Log.Debug("cancelling a task", "upstream", l.Server, "err", err)
	}
}
