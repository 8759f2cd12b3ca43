package tasks

import (
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/project"
)

const (
	separator = "~"
	maxResult = 256 << 10 // a result that announces a task is small
)

// paths are where a result or a notification names its task.
var paths = [...][]string{{"taskId"}, {"task", "taskId"}, {"_meta", mcp.RelatedTask, "taskId"}}

// Split finds the server in the id of a task where several servers share an
// endpoint.
func Split(id string) (server, own string, ok bool) { return strings.Cut(id, separator) }

// Rename gives the tasks that a result names ids that lead back to their server,
// and leaves out listed ones of other principals. Where an endpoint has one
// server alone, and of tasks that run here, the ids stay; mark follows them.
func (o *Book) Rename(schema, server string, alone bool, mark string, who *access.Principal, result []byte) []byte {
	tasks := jsonrpc.Get(result, "tasks")
	if tasks == nil && len(result) > maxResult {
		return result
	}
	name := func(id string) []byte {
		if alone || server == "" { // of ours, which no server knows
			return jsonrpc.Quote(id + mark)
		}
		return jsonrpc.Quote(server + separator + id + mark)
	}
	for _, path := range paths {
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
		if !ok || !o.Belong(Key{schema, server, id}, who) {
			continue
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, jsonrpc.Set(task, name(id), "taskId")...)
	}
	return jsonrpc.Set(result, append(list, ']'), "tasks")
}

// Own notes that the task which a result announces belongs to a principal, and
// what that works on.
func (o *Book) Own(schema, server, principal string, at *project.Project, result []byte) {
	if len(result) > maxResult {
		return
	}
	for _, path := range paths {
		if id, ok := jsonrpc.GetString(result, path...); ok {
			o.note(Key{schema, server, id}, principal, func(t *task) {
				if t.owner == principal {
					t.project = at
				}
			})
		}
	}
}

// Without removes the task that a result belongs to.
func Without(result []byte) []byte {
	if jsonrpc.Get(result, "_meta", mcp.RelatedTask) == nil {
		return result
	}
	result = jsonrpc.Set(result, nil, "_meta", mcp.RelatedTask)
	for range jsonrpc.Members(jsonrpc.Get(result, "_meta")) {
		return result
	}
	return jsonrpc.Set(result, nil, "_meta")
}

// Relate adds the task that a result belongs to.
func Relate(result []byte, id string) []byte {
	return jsonrpc.Set(result, jsonrpc.Quote(id), "_meta", mcp.RelatedTask, "taskId")
}

// Possible says whether a tool of 2025-11-25 may run as a task.
func Possible(item *catalog.Item) bool {
	support, _ := jsonrpc.GetString(item.Raw, "execution", "taskSupport")
	return support == "required" || support == "optional"
}
