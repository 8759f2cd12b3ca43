package gateway

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"mcp-all-in-one/internal/gateway/modern"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// A task of a modern server, for a legacy client: the server decides what is a
// task and tells all of it in tasks/get; the client asks for a task, and for its
// result by tasks/result, during which it is asked.

const (
	minPoll, maxPoll = 20 * time.Millisecond, 5 * time.Second
	defaultPoll      = time.Second
	// cancelWait is how long a task may take to end after it was cancelled: the
	// extension promises nothing, and 2025-11-25 answers with its end.
	cancelWait = 2 * time.Second
	maxListed  = 100 // of the tasks of one server
)

// takesTasks is who calls a modern server on behalf of a client whose own dialect
// of tasks it does not know.
func takesTasks(p party) party {
	c := p.caller
	p.caller = &upstream.Caller{Principal: c.Principal, Era: c.Era, Version: c.Version, Info: c.Info, LogLevel: c.LogLevel, Offer: c.Offer.WithTasks()}
	return p
}

// askForTask calls a tool of a modern server for a client that wants a task.
// What the server answers at once becomes a task that has ended.
func (s *Session) askForTask(ctx context.Context, p party, u *upstream.Upstream, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	wanted := &jsonrpc.Request{Method: req.Method, Params: jsonrpc.Set(req.Params, nil, "task"), Back: req.Back}
	resp, err := s.callServer(ctx, takesTasks(p), u, wanted)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	key := taskKey{s.opening.Schema, u.Name(), ""}
	token := jsonrpc.Get(req.Params, "_meta", "progressToken")
	var told []byte
	if kind, _ := jsonrpc.GetString(resp.Result, "resultType"); kind == "task" {
		key.id, _ = jsonrpc.GetString(resp.Result, "taskId")
		told = jsonrpc.Set(mcp.LegacyTask(append([]byte(nil), resp.Result...)), nil, "_meta")
		s.gw.tasks.note(key, s.opening.Who.ID, func(t *task) { t.token = append([]byte(nil), token...) })
	} else {
		key.id = modern.RandomID()
		done := &jsonrpc.Response{Result: append([]byte(nil), resp.Result...)}
		s.gw.tasks.note(key, s.opening.Who.ID, func(t *task) { t.done = done })
		s.gw.tasks.keep(key, len(done.Result))
		known, _ := s.gw.tasks.of(key)
		told = endedTask(key.id, known.at)
	}
	resp.Release()
	// A task of 2025-11-25 begins in this state, whatever comes of it at once.
	told = jsonrpc.Set(told, []byte(`"working"`), "status")
	return &jsonrpc.Response{Result: s.nameTasks(u.Name(), jsonrpc.Set([]byte(`{}`), told, "task"))}, nil
}

// endedTask is a task that a server answered at once.
func endedTask(id string, at time.Time) []byte {
	when := jsonrpc.Quote(at.UTC().Format(time.RFC3339Nano))
	return fmt.Appendf(nil, `{"taskId":%s,"status":"completed","createdAt":%s,"lastUpdatedAt":%s,"ttl":%d,"pollInterval":%d}`,
		jsonrpc.Quote(id), when, when, keptResult.Milliseconds(), minPoll.Milliseconds())
}

// legacyTask answers what a legacy client asks about a task of a modern server.
func (s *Session) legacyTask(ctx context.Context, c *Call, t *target) (*jsonrpc.Response, error) {
	known, _ := s.gw.tasks.of(taskKey{s.opening.Schema, t.upstream.Name(), t.name})
	p, u := c.client, t.upstream
	var resp *jsonrpc.Response
	var err error
	switch {
	case c.Method == mcp.MethodTasksResult && known.done != nil:
		resp = &jsonrpc.Response{Result: append([]byte(nil), known.done.Result...)}
		return s.related(p, u, t.name, resp), nil
	case c.Method == mcp.MethodTasksResult:
		resp, err = s.followTask(ctx, p, u, t.name, known.token)
		if err == nil && resp.Err == nil {
			resp = s.related(p, u, t.name, resp)
		}
		return resp, err
	case known.done != nil:
		resp = &jsonrpc.Response{Result: endedTask(t.name, known.at)}
	case c.Method == mcp.MethodTasksGet:
		resp, err = s.taskOf(ctx, p, u, t.name)
	case c.Method == mcp.MethodTasksCancel:
		resp, err = s.endTask(ctx, p, u, t.name)
	default:
		return nil, jsonrpc.MethodNotFound(c.Method, "not a method of "+p.rules.Date)
	}
	if err != nil || resp.Err != nil {
		return resp, err
	}
	return &jsonrpc.Response{Result: s.nameTasks(u.Name(), mcp.LegacyTask(resp.Result))}, nil
}

// related makes the result of a task one for its legacy client.
func (s *Session) related(p party, u *upstream.Upstream, id string, resp *jsonrpc.Response) *jsonrpc.Response {
	s.adapt(p.rules, u, resp)
	resp.Result = s.nameTasks(u.Name(), jsonrpc.Set(resp.Result, jsonrpc.Quote(id), "_meta", mcp.RelatedTask, "taskId"))
	return resp
}

// taskOf asks a modern server how a task is.
func (s *Session) taskOf(ctx context.Context, p party, u *upstream.Upstream, id string) (*jsonrpc.Response, error) {
	return s.callServer(ctx, takesTasks(p), u, aboutTask(mcp.MethodTasksGet, id))
}

func aboutTask(method, id string) *jsonrpc.Request {
	return &jsonrpc.Request{Method: method, Params: jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(id), "taskId")}
}

// endTask cancels a task and returns what became of it.
func (s *Session) endTask(ctx context.Context, p party, u *upstream.Upstream, id string) (*jsonrpc.Response, error) {
	resp, err := s.callServer(ctx, takesTasks(p), u, aboutTask(mcp.MethodTasksCancel, id))
	if err != nil || resp.Err != nil {
		return resp, err
	}
	late := time.Now().Add(cancelWait)
	for {
		resp, err = s.taskOf(ctx, p, u, id)
		if err != nil || resp.Err != nil {
			return resp, err
		}
		if status, _ := jsonrpc.GetString(resp.Result, "status"); mcp.TaskEnded(status) || time.Now().After(late) {
			return resp, nil
		}
		if err := pause(ctx, 2*minPoll); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// followTask waits for the end of a task of a modern server. What the task asks
// becomes questions to the client, how it tells that it is doing becomes
// progress.
func (s *Session) followTask(ctx context.Context, p party, u *upstream.Upstream, id string, token []byte) (*jsonrpc.Response, error) {
	asked := make(map[string]bool)
	steps, message := 0, ""
	for {
		resp, err := s.taskOf(ctx, p, u, id)
		if err != nil || resp.Err != nil {
			return resp, err
		}
		if is, _ := jsonrpc.GetString(resp.Result, "statusMessage"); is != message && token != nil && p.back != nil {
			steps, message = steps+1, is
			p.back.HandleNotification(ctx, nil, &jsonrpc.Notification{Method: mcp.NotificationProgress,
				Params: fmt.Appendf(nil, `{"progressToken":%s,"progress":%d,"message":%s}`, token, steps, jsonrpc.Quote(is))})
		}
		switch status, _ := jsonrpc.GetString(resp.Result, "status"); status {
		case "completed":
			return &jsonrpc.Response{Result: append([]byte(nil), jsonrpc.AsObject(jsonrpc.Get(resp.Result, "result"))...)}, nil
		case "failed":
			return &jsonrpc.Response{Err: taskError(jsonrpc.Get(resp.Result, "error"))}, nil
		case "cancelled":
			return nil, jsonrpc.InvalidParams("task '%s' was cancelled", clip(id))
		case "input_required":
			if refused := s.answerTask(ctx, p, u, id, jsonrpc.Get(resp.Result, "inputRequests"), asked); refused != nil {
				s.cancelTask(ctx, takesTasks(p), u, aboutTask(mcp.MethodTasksCancel, id).Params)
				return nil, refused
			}
		}
		if err := pause(ctx, pollEvery(resp.Result)); err != nil {
			return nil, err
		}
	}
}

// pollEvery is how long the server wants to be left alone, bounded.
func pollEvery(task []byte) time.Duration {
	n, err := strconv.ParseInt(string(jsonrpc.Get(task, "pollIntervalMs")), 10, 64)
	if err != nil {
		return defaultPoll
	}
	return min(max(time.Duration(n)*time.Millisecond, minPoll), maxPoll)
}

// taskError is the error that a task failed with.
func taskError(raw []byte) *jsonrpc.Error {
	code, err := strconv.ParseInt(string(jsonrpc.Get(raw, "code")), 10, 64)
	if err != nil {
		code = jsonrpc.CodeInternal
	}
	message, _ := jsonrpc.GetString(raw, "message")
	return &jsonrpc.Error{Code: code, Message: message, Data: append([]byte(nil), jsonrpc.Get(raw, "data")...)}
}

// answerTask asks the client what a task asks and was not answered yet, all at
// once, and gives the server the answers. It returns why the client refused a
// question that cannot be answered with a refusal.
func (s *Session) answerTask(ctx context.Context, p party, u *upstream.Upstream, id string, questions []byte, asked map[string]bool) error {
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
		params := jsonrpc.Set(jsonrpc.AsObject(jsonrpc.Get(q, "params")), jsonrpc.Quote(id), "_meta", mcp.RelatedTask, "taskId")
		req := &jsonrpc.Request{Method: method, Params: s.nameTasks(u.Name(), params)}
		wg.Go(func() {
			answer, err := askClient(ctx, p, req)
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
	update := aboutTask(mcp.MethodTasksUpdate, id)
	update.Params = jsonrpc.Set(update.Params, answers, "inputResponses")
	resp, err := s.callServer(ctx, takesTasks(p), u, update)
	if err == nil && resp.Err != nil {
		err = resp.Err
	}
	return err
}

// askClient puts a question of a task to the client.
func askClient(ctx context.Context, p party, req *jsonrpc.Request) ([]byte, error) {
	if p.back == nil {
		return nil, jsonrpc.MethodNotFound(req.Method, "the client does not offer this")
	}
	resp, err := p.back.Handle(ctx, nil, req)
	if err == nil && resp.Err != nil {
		err = resp.Err
	}
	if err == nil {
		// What names the task is between us and the client.
		return withoutTask(append([]byte(nil), resp.Result...)), nil
	}
	if req.Method == mcp.MethodElicit && ctx.Err() == nil {
		return []byte(`{"action":"cancel"}`), nil
	}
	return nil, err
}

// modernTasks are the tasks of a modern server that the principal began, as
// tasks/list of 2025-11-25 tells them: the extension has no list.
func (s *Session) modernTasks(ctx context.Context, c *Call, u *upstream.Upstream) [][]byte {
	var list [][]byte
	for _, id := range s.gw.tasks.listOf(s.opening.Schema, u.Name(), s.opening.Who.ID, maxListed) {
		get := *c
		get.Method = mcp.MethodTasksGet
		resp, err := s.attempt(ctx, &get, &target{kind: taskItem, upstream: u, name: id, params: aboutTask(get.Method, id).Params})
		if err == nil && resp.Err == nil {
			list = append(list, resp.Result)
		}
	}
	return list
}
