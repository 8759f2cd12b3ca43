package gateway

import (
	"bytes"
	"context"
	"mcp-all-in-one/internal/gateway/tasks"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
	"slices"
	"strings"
)

// Tasks have two dialects: the tasks of 2025-11-25, and the extension of the modern
// era. Package tasks translates between them. If several servers share an
// endpoint, the id of a task contains its server; in a cluster also the
// replica, if the client has no session.

// task finds the server in the id of a task.
func (f *finder) task(c *Call) (*target, error) {
	id, ok := jsonrpc.GetString(c.Params, "taskId")
	if !ok {
		return nil, jsonrpc.InvalidParams("taskId must be a string")
	}
	c.Target = id
	server, own := f.opening.Server, id
	if f.gw.mark != "" {
		own, _ = f.gw.seals.Unmark(id)
	}
	t := &target{kind: taskItem, name: own, params: c.Params}
	if !f.gw.tasks.OfOurs(f.taskKey(t)) {
		if server == "" {
			server, own, ok = tasks.Split(own)
		}
		if t.upstream, t.name = f.upstream(server), own; !ok || t.upstream == nil {
			return nil, f.notFound(c)
		}
	}
	if own != id {
		t.params = jsonrpc.Set(t.params, jsonrpc.Quote(own), "taskId")
	}
	return t, nil
}

const maxListed = 100 // tasks of one server

// listTasks joins the principal's tasks of all servers that list tasks.
func (d *dispatcher) listTasks(ctx context.Context, c *Call) (*jsonrpc.Response, error) {
	if c.client.rules.Era == mcp.Modern {
		return nil, jsonrpc.MethodNotFound(c.Method, "not a method of "+mcp.LatestModern)
	}
	var owners []*target
	list, modern := d.gw.tasks.ListOurs(d.opening.Schema, &d.opening.Who, maxListed), false
	for _, u := range d.upstreams() {
		if era, ok := u.Tasks(ctx, c.client.caller); ok && era == mcp.Modern {
			modern = true
			list = append(list, d.modernTasks(ctx, c, u)...)
		} else if f := u.Features(d.caller); f != nil && jsonrpc.Get(f.Capabilities, "tasks", "list") != nil {
			owners = append(owners, &target{kind: taskItem, upstream: u, params: c.Params})
		}
	}
	switch {
	case len(owners) == 0 && !modern && len(list) == 0 && !d.runs():
		return nil, jsonrpc.MethodNotFound(c.Method, "no server lists tasks")
	case len(owners) == 1 && !modern && len(list) == 0:
		return d.attempt(ctx, c, owners[0])
	}
	for _, t := range owners {
		t.params = jsonrpc.Set(jsonrpc.AsObject(c.Params), nil, "cursor")
		resp, err := d.attempt(ctx, c, t)
		if err != nil || resp.Err != nil {
			continue // a server that is down hides only its own tasks
		}
		list = slices.AppendSeq(list, jsonrpc.Elements(jsonrpc.AsArray(jsonrpc.Get(resp.Result, "tasks"))))
	}
	all := append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']')
	return &jsonrpc.Response{Result: jsonrpc.Set([]byte(`{}`), all, "tasks")}, nil
}

// modernTasks returns the tasks of a modern server that the principal began, in
// the format of tasks/list of 2025-11-25. The extension has no list.
func (d *dispatcher) modernTasks(ctx context.Context, c *Call, u *upstream.Upstream) [][]byte {
	var list [][]byte
	for _, id := range d.gw.tasks.ListOf(d.opening.Schema, u.Name(), d.opening.Who.Owner(), maxListed) {
		get := *c
		get.Method = mcp.MethodTasksGet
		resp, err := d.attempt(ctx, &get, &target{kind: taskItem, upstream: u, name: id, params: tasks.About(get.Method, id).Params})
		if err == nil && resp.Err == nil {
			list = append(list, resp.Result)
		}
	}
	return list
}

// nameTasks replaces the task ids in a result by ids that contain the server,
// and removes listed tasks of other principals.
func (id *identity) nameTasks(server string, result []byte) []byte {
	mark := id.gw.mark
	if id.opening.Session || id.opening.Peer {
		mark = "" // the client's requests about the task reach this replica anyway
	}
	return id.gw.tasks.Rename(id.opening.Schema, server, id.opening.Server != "", mark, &id.opening.Who, result)
}

// nameTask applies nameTasks to a notification of a server.
func (id *identity) nameTask(server string, n *jsonrpc.Notification) *jsonrpc.Notification {
	if !strings.HasPrefix(n.Method, mcp.NotificationTasks) {
		return n
	}
	return &jsonrpc.Notification{Method: n.Method, Params: id.nameTasks(server, n.Params)}
}

func (id *identity) taskKey(t *target) tasks.Key {
	k := tasks.Key{Schema: id.opening.Schema, ID: t.name}
	if t.upstream != nil {
		k.Server = t.upstream.Name()
	}
	return k
}

// wantsTask reports whether a script call should run as a task.
func (d *dispatcher) wantsTask(c *Call, t *target) bool {
	return t.isScript() && c.Via == d.opening.Via && tasks.Wanted(c.client.rules, c.client.caller.Offer, t.params)
}

// ours returns the link between a client and its scripts that run as tasks.
func (d *dispatcher) ours(c *Call) tasks.Link {
	return tasks.Link{
		Schema: d.opening.Schema, Principal: d.opening.Who.Owner(), Version: c.client.rules.Date, Back: outside{&d.line, ""}, Log: d.gw.log,
		Rename: func(message []byte) []byte { return d.nameTasks("", message) },
		Enter:  func() (func(), error) { return d.gw.scripts.Enter(d.opening.Who.ID) },
	}
}
