package mcp

import "mcp-all-in-one/internal/jsonrpc"

// RelatedTask is the member of _meta that names the 2025-11-25 task of a
// message.
const RelatedTask = "io.modelcontextprotocol/related-task"

// TaskEnded reports whether a status is final.
func TaskEnded(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// ModernTask converts a task of 2025-11-25 to the form of the extension.
func ModernTask(task []byte) []byte {
	ttl := jsonrpc.Get(task, "ttl")
	if ttl == nil {
		ttl = []byte("null")
	}
	task = jsonrpc.Set(task, ttl, "ttlMs")
	return renamed(jsonrpc.Set(task, nil, "ttl"), "pollInterval", "pollIntervalMs")
}

// LegacyTask converts a task of the extension to the form of 2025-11-25:
// without its questions and its result, which clients fetch with tasks/result
// there.
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

// WithTasks returns the offer with support for tasks of the extension.
func (o Offer) WithTasks() Offer {
	extensions := o.Extensions
	if len(extensions) == 0 {
		extensions = []byte(`{}`)
	}
	o.Extensions = jsonrpc.Set(extensions, []byte(`{}`), TasksExtension)
	return o
}

// TakesTasks reports whether the client supports tasks of the extension.
func (o Offer) TakesTasks() bool {
	return len(o.Extensions) > 0 && jsonrpc.Get(o.Extensions, TasksExtension) != nil
}
