package gateway

import (
	"bytes"
	"context"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// Tasks pass through in the dialect of their server: the one of 2025-11-25, or
// the extension of the modern era. A client is told about them only where its
// own version has that dialect. Where several servers share an endpoint, the
// id of a task says which one it belongs to.

const (
	taskSeparator = "~"
	relatedTask   = "io.modelcontextprotocol/related-task"
	maxTaskResult = 256 << 10 // a result that announces a task is small
)

// capabilities are ours, with what the servers add that needs nothing of us
// but routing.
func (s *Session) capabilities(era mcp.Era, version string, offer mcp.Offer) []byte {
	caps := []byte(serverCapabilities)
	for _, u := range s.upstreams() {
		f := u.Features(s.caller)
		if f == nil {
			continue
		}
		if tasks := jsonrpc.Get(f.Capabilities, "tasks"); tasks != nil && era == mcp.Legacy && mcp.Rules(version).SampleTools {
			caps = jsonrpc.Set(caps, tasks, "tasks")
		}
		for id, settings := range jsonrpc.Members(orEmptyObject(jsonrpc.Get(f.Capabilities, "extensions"))) {
			if id == mcp.TasksExtension && era == mcp.Legacy || era == mcp.Legacy && jsonrpc.Get(orEmptyObject(offer.Extensions), id) == nil {
				continue
			}
			caps = jsonrpc.Set(caps, settings, "extensions", id)
		}
	}
	return caps
}

// task routes a request about a task to the server in its id.
func (s *Session) task(ctx context.Context, p party, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	id, ok := jsonrpc.GetString(req.Params, "taskId")
	if !ok {
		return nil, invalidParams("taskId must be a string")
	}
	u, own := s.taskOwner(id)
	if u == nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Task '%s' not found", clip(id))
	}
	params := req.Params
	if own != id {
		params = jsonrpc.Set(params, jsonrpc.Quote(own), "taskId")
	}
	return s.send(ctx, p, u, &jsonrpc.Request{Method: req.Method, Params: params, Back: p.back})
}

// taskOwner is the server in the id of a task, and the id that it knows.
func (s *Session) taskOwner(id string) (u *upstream.Upstream, own string) {
	server, own, ok := s.opening.Server, id, true
	if server == "" {
		server, own, ok = strings.Cut(id, taskSeparator)
	}
	if !ok || !s.seesServer(server) {
		return nil, ""
	}
	return s.upstream(server), own
}

// listTasks joins the tasks of every server that lists them.
func (s *Session) listTasks(ctx context.Context, p party, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	var owners []*upstream.Upstream
	for _, u := range s.upstreams() {
		if f := u.Features(s.caller); f != nil && jsonrpc.Get(f.Capabilities, "tasks", "list") != nil {
			owners = append(owners, u)
		}
	}
	if len(owners) == 0 {
		return nil, methodNotFound(req.Method, "no server lists tasks")
	}
	if len(owners) == 1 {
		return s.send(ctx, p, owners[0], &jsonrpc.Request{Method: req.Method, Params: req.Params, Back: p.back})
	}
	list := []byte{'['}
	for _, u := range owners {
		resp, err := s.send(ctx, p, u, &jsonrpc.Request{Method: req.Method, Params: jsonrpc.Set(orEmptyObject(req.Params), nil, "cursor"), Back: p.back})
		if err != nil || resp.Err != nil {
			continue // one server that is down hides its own tasks only
		}
		for task := range jsonrpc.Elements(orEmptyArray(jsonrpc.Get(resp.Result, "tasks"))) {
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = append(list, task...)
		}
	}
	return &jsonrpc.Response{Result: jsonrpc.Set([]byte(`{}`), append(list, ']'), "tasks")}, nil
}

// watch asks the owners of the wanted tasks and returns those that can tell.
func (l *listener) watch(ctx context.Context, p party, wanted []byte) ([]heard, []byte) {
	if len(wanted) == 0 || wanted[0] != '[' || jsonrpc.Get(orEmptyObject(p.caller.Offer.Extensions), mcp.TasksExtension) == nil {
		return nil, nil
	}
	var watched []heard
	ids := []byte{'['}
	for raw := range jsonrpc.Elements(wanted) {
		id, ok := jsonrpc.Text(raw)
		if !ok || len(watched) >= maxSubscriptions {
			continue
		}
		u, own := l.s.taskOwner(id)
		if u == nil || !hasTasks(u.Features(p.caller)) || !u.WatchTask(ctx, p.caller, own, l) {
			continue
		}
		watched = append(watched, heard{u, own})
		if len(ids) > 1 {
			ids = append(ids, ',')
		}
		ids = append(ids, raw...)
	}
	return watched, append(ids, ']')
}

func (l *listener) unwatch(p party, watched []heard) {
	release(watched, func(ctx context.Context, h heard) { h.owner.UnwatchTask(ctx, p.caller, h.id, l) })
}

// nameTasks gives the tasks that a result names ids that lead back to their
// server.
func (s *Session) nameTasks(server string, result []byte) []byte {
	if s.opening.Server != "" || len(result) > maxTaskResult || !bytes.Contains(result, []byte(`"taskId"`)) {
		return result
	}
	for _, path := range [][]string{{"taskId"}, {"task", "taskId"}, {"_meta", relatedTask, "taskId"}} {
		if id, ok := jsonrpc.GetString(result, path...); ok {
			result = jsonrpc.Set(result, jsonrpc.Quote(server+taskSeparator+id), path...)
		}
	}
	tasks := jsonrpc.Get(result, "tasks")
	if len(tasks) == 0 || tasks[0] != '[' {
		return result
	}
	list := []byte{'['}
	for task := range jsonrpc.Elements(tasks) {
		if len(list) > 1 {
			list = append(list, ',')
		}
		if id, ok := jsonrpc.GetString(task, "taskId"); ok {
			task = jsonrpc.Set(task, jsonrpc.Quote(server+taskSeparator+id), "taskId")
		}
		list = append(list, task...)
	}
	return jsonrpc.Set(result, append(list, ']'), "tasks")
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
}

func (b taskBack) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if params := b.s.nameTasks(b.server, req.Params); len(params) != len(req.Params) {
		req = &jsonrpc.Request{Method: req.Method, Params: params, Back: req.Back}
	}
	return b.Handler.Handle(ctx, from, req)
}

func (b taskBack) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	b.Handler.HandleNotification(ctx, from, b.s.nameTask(b.server, n))
}

// hasTasks says whether a server may make tasks, in either dialect.
func hasTasks(f *catalog.Features) bool {
	return f != nil && bytes.Contains(f.Capabilities, []byte("tasks"))
}
