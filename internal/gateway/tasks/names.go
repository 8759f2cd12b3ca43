package tasks

import (
	"strings"
	"time"

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

// paths are the places of the task id in a result or a notification.
var paths = [...][]string{{"taskId"}, {"task", "taskId"}, {"_meta", mcp.RelatedTask, "taskId"}}

// Split splits the id of a task into the server and the server's own id, if
// several servers share an endpoint.
func Split(id string) (server, own string, ok bool) { return strings.Cut(id, separator) }

// Rename replaces the task ids in a result by ids that contain the server, and
// removes listed tasks of other principals. The ids stay unchanged if alone is
// set, or if server is empty, which means a job of the gateway. mark is
// appended to the ids.
func (o *Book) Rename(schema, server string, alone bool, mark string, who *access.Principal, result []byte) []byte {
	tasks := jsonrpc.Get(result, "tasks")
	if tasks == nil && len(result) > maxResult {
		return result
	}
	name := func(id string) []byte {
		if alone || server == "" { // a job, which no server knows
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

// Own records the principal and the project of the task that a result
// announces. since returns when the server started: it may give its earlier ids again.
func (o *Book) Own(schema, server, principal string, at *project.Project, since func() time.Time, result []byte) {
	if len(result) > maxResult {
		return
	}
	for _, path := range paths {
		if id, ok := jsonrpc.GetString(result, path...); ok {
			k := Key{schema, server, id}
			forgetBefore(o, k, since())
			o.note(k, principal, func(t *task) {
				if t.owner == principal {
					t.project = at
				}
			})
		}
	}
}

// Without removes the reference to a task from a result.
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

// relate adds a reference to a task to a result.
func relate(result []byte, id string) []byte {
	return jsonrpc.Set(result, jsonrpc.Quote(id), "_meta", mcp.RelatedTask, "taskId")
}

// possible reports whether a tool of 2025-11-25 may run as a task.
func possible(item *catalog.Item) bool {
	support, _ := jsonrpc.GetString(item.Raw, "execution", "taskSupport")
	return support == "required" || support == "optional"
}
