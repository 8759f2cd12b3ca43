package gateway

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Tasks have two dialects: the one of 2025-11-25, and the extension of the
// modern era. A client speaks its own; where the server speaks the other one,
// task_modern.go and task_legacy.go translate. Where several servers share an
// endpoint, the id of a task says which one it belongs to.

const (
	taskSeparator = "~"
	maxTaskResult = 256 << 10 // a result that announces a task is small
)

// capabilities are ours, with what the servers add that needs nothing of us
// but routing, or translating.
func (s *Session) capabilities(ctx context.Context, p party) []byte {
	caps := []byte(serverCapabilities)
	for _, u := range s.upstreams() {
		f := u.Features(p.caller)
		if f == nil {
			continue
		}
		declared := f.Capabilities
		for id, settings := range jsonrpc.Members(jsonrpc.AsObject(jsonrpc.Get(declared, "extensions"))) {
			if id == mcp.SkillsExtension { // clients do not announce that they know it
				settings = joinedSkills(jsonrpc.Get(caps, "extensions", id), settings)
			} else if id == mcp.TasksExtension || p.rules.Era == mcp.Legacy && jsonrpc.Get(jsonrpc.AsObject(p.caller.Offer.Extensions), id) == nil {
				continue
			}
			caps = jsonrpc.Set(caps, settings, "extensions", id)
		}
		if era, ok := u.Tasks(ctx, p.caller); ok {
			caps = withTasks(caps, p, era, declared)
		}
	}
	return caps
}

// withTasks adds what a client is told of the tasks of a server.
func withTasks(caps []byte, p party, era mcp.Era, declared []byte) []byte {
	switch {
	case p.rules.Era == mcp.Modern && (era == mcp.Modern || jsonrpc.Get(declared, "tasks", "requests", "tools", "call") != nil):
		settings := jsonrpc.AsObject(jsonrpc.Get(declared, "extensions", mcp.TasksExtension))
		return jsonrpc.Set(caps, settings, "extensions", mcp.TasksExtension)
	case p.rules.Era == mcp.Modern || !p.rules.SampleTools:
		return caps
	case era == mcp.Modern:
		declared = []byte(`{"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`)
	}
	tasks := jsonrpc.Get(caps, "tasks")
	if tasks == nil {
		return jsonrpc.Set(caps, jsonrpc.Get(declared, "tasks"), "tasks")
	}
	for member, value := range jsonrpc.Members(jsonrpc.Get(declared, "tasks")) {
		caps = jsonrpc.Set(caps, value, "tasks", member)
	}
	return caps
}

// resolveTask finds the server in the id of a task.
func (s *Session) resolveTask(c *Call) (*target, error) {
	id, ok := jsonrpc.GetString(c.Params, "taskId")
	if !ok {
		return nil, jsonrpc.InvalidParams("taskId must be a string")
	}
	c.Target = id
	server, own := s.opening.Server, id
	if server == "" {
		server, own, ok = strings.Cut(id, taskSeparator)
	}
	t := &target{kind: taskItem, upstream: s.upstream(server), name: own, params: c.Params}
	if !ok || t.upstream == nil {
		return nil, s.notFound(c)
	}
	if own != id {
		t.params = jsonrpc.Set(t.params, jsonrpc.Quote(own), "taskId")
	}
	return t, nil
}

// listTasks joins the principal's tasks of every server that lists them.
func (s *Session) listTasks(ctx context.Context, c *Call) (*jsonrpc.Response, error) {
	if c.client.rules.Era == mcp.Modern {
		return nil, jsonrpc.MethodNotFound(c.Method, "not a method of "+mcp.LatestModern)
	}
	var owners []*target
	var tasks [][]byte
	modern := false
	for _, u := range s.upstreams() {
		if era, ok := u.Tasks(ctx, c.client.caller); ok && era == mcp.Modern {
			modern = true
			tasks = append(tasks, s.modernTasks(ctx, c, u)...)
		} else if f := u.Features(s.caller); f != nil && jsonrpc.Get(f.Capabilities, "tasks", "list") != nil {
			owners = append(owners, &target{kind: taskItem, upstream: u, params: c.Params})
		}
	}
	switch {
	case len(owners) == 0 && !modern:
		return nil, jsonrpc.MethodNotFound(c.Method, "no server lists tasks")
	case len(owners) == 1 && !modern:
		return s.attempt(ctx, c, owners[0])
	}
	for _, t := range owners {
		t.params = jsonrpc.Set(jsonrpc.AsObject(c.Params), nil, "cursor")
		resp, err := s.attempt(ctx, c, t)
		if err != nil || resp.Err != nil {
			continue // one server that is down hides its own tasks only
		}
		tasks = slices.AppendSeq(tasks, jsonrpc.Elements(jsonrpc.AsArray(jsonrpc.Get(resp.Result, "tasks"))))
	}
	list := append(append([]byte{'['}, bytes.Join(tasks, []byte{','})...), ']')
	return &jsonrpc.Response{Result: jsonrpc.Set([]byte(`{}`), list, "tasks")}, nil
}

// watch asks the owners of the wanted tasks and returns those that can tell.
func (l *listener) watch(ctx context.Context, p party, wanted []byte) ([]heard, []byte) {
	if len(wanted) == 0 || wanted[0] != '[' || !p.caller.Offer.TakesTasks() {
		return nil, nil
	}
	var watched []heard
	ids := []byte{'['}
	for raw := range jsonrpc.Elements(wanted) {
		if len(watched) >= maxSubscriptions {
			break
		}
		c := &Call{Via: l.s.opening.Via, Method: mcp.MethodTasksGet, Params: jsonrpc.Set([]byte(`{}`), raw, "taskId"), client: p}
		h, ok := l.watchTask(ctx, c)
		if !ok {
			continue
		}
		watched = append(watched, h)
		if len(ids) > 1 {
			ids = append(ids, ',')
		}
		ids = append(ids, raw...)
	}
	return watched, append(ids, ']')
}

// nameTasks gives the tasks that a result names ids that lead back to their
// server, and leaves out listed ones of other principals.
func (s *Session) nameTasks(server string, result []byte) []byte {
	tasks := jsonrpc.Get(result, "tasks")
	if tasks == nil && len(result) > maxTaskResult {
		return result
	}
	name := func(id string) []byte {
		if s.opening.Server != "" {
			return jsonrpc.Quote(id)
		}
		return jsonrpc.Quote(server + taskSeparator + id)
	}
	for _, path := range taskPaths {
		if id, ok := jsonrpc.GetString(result, path...); ok {
			result = jsonrpc.Set(result, name(id), path...)
		}
	}
	if tasks = jsonrpc.Get(result, "tasks"); len(tasks) == 0 || tasks[0] != '[' {
		return result
	}
	list := []byte{'['}
	for task := range jsonrpc.Elements(tasks) {
		id, ok := jsonrpc.GetString(task, "taskId")
		if !ok || !s.gw.tasks.belong(taskKey{s.opening.Schema, server, id}, &s.opening.Who) {
			continue
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, jsonrpc.Set(task, name(id), "taskId")...)
	}
	return jsonrpc.Set(result, append(list, ']'), "tasks")
}

// taskPaths are where a result or a notification names its task.
var taskPaths = [...][]string{{"taskId"}, {"task", "taskId"}, {"_meta", mcp.RelatedTask, "taskId"}}

// ownTask notes that the task which a result announces belongs to the
// principal.
func (s *Session) ownTask(server string, result []byte) {
	if len(result) > maxTaskResult {
		return
	}
	for _, path := range taskPaths {
		if id, ok := jsonrpc.GetString(result, path...); ok {
			s.gw.tasks.own(taskKey{s.opening.Schema, server, id}, s.opening.Who.ID)
		}
	}
}

// nameTask is a notification of a server with its tasks named.
func (s *Session) nameTask(server string, n *jsonrpc.Notification) *jsonrpc.Notification {
	if !strings.HasPrefix(n.Method, mcp.NotificationTasks) {
		return n
	}
	return &jsonrpc.Notification{Method: n.Method, Params: s.nameTasks(server, n.Params)}
}

// taskBack names the tasks in what a server says and asks while it works.
type taskBack struct {
	jsonrpc.Handler
	s      *Session
	server string
	// outlived says that the call has become a task: it was answered, so what
	// follows cannot travel on its stream.
	outlived atomic.Bool
}

func (b *taskBack) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if params := b.s.nameTasks(b.server, req.Params); len(params) != len(req.Params) {
		req = &jsonrpc.Request{Method: req.Method, Params: params, Back: req.Back}
	}
	return b.Handler.Handle(ctx, from, req)
}

func (b *taskBack) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	if b.outlived.Load() {
		outside{b.s, b.server}.HandleNotification(ctx, from, n)
		return
	}
	b.Handler.HandleNotification(ctx, from, b.s.nameTask(b.server, n))
}
