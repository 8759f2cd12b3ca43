package mcp

import "mcp-all-in-one/internal/jsonrpc"

// RelatedTask is the member of _meta that names the task of 2025-11-25 which a
// message belongs to.
const RelatedTask = "io.modelcontextprotocol/related-task"

// TaskEnded says whether a task in that state will have no other.
func TaskEnded(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// ModernTask is a task of 2025-11-25 as the extension writes it.
func ModernTask(task []byte) []byte {
	ttl := jsonrpc.Get(task, "ttl")
	if ttl == nil {
		ttl = []byte("null")
	}
	task = jsonrpc.Set(task, ttl, "ttlMs")
	return renamed(jsonrpc.Set(task, nil, "ttl"), "pollInterval", "pollIntervalMs")
}

// LegacyTask is a task of the extension as 2025-11-25 writes it: without its
// questions and its result, which are asked for by tasks/result there.
func LegacyTask(task []byte) []byte {
	for _, member := range []string{"resultType", "inputRequests", "result", "error"} {
		task = jsonrpc.Set(task, nil, member)
	}
	return renamed(renamed(task, "ttlMs", "ttl"), "pollIntervalMs", "pollInterval")
}

func renamed(task []byte, from, to string) []byte {
	if value := jsonrpc.Get(task, from); value != nil {
		task = jsonrpc.Set(jsonrpc.Set(task, value, to), nil, from)
	}
	return task
}

// WithTasks is the offer of a client that takes tasks of the extension.
func (o Offer) WithTasks() Offer {
	extensions := o.Extensions
	if len(extensions) == 0 {
		extensions = []byte(`{}`)
	}
	o.Extensions = jsonrpc.Set(extensions, []byte(`{}`), TasksExtension)
	return o
}

// TakesTasks says whether the client takes tasks of the extension.
func (o Offer) TakesTasks() bool {
	return len(o.Extensions) > 0 && jsonrpc.Get(o.Extensions, TasksExtension) != nil
}
