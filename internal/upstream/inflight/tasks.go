package inflight

import (
	"slices"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// maxFollowed limits the tasks of one connection whose progress is passed on. The
// oldest are dropped first.
const maxFollowed = 1000

// followed holds the calls that became tasks of 2025-11-25. Such a task reports
// progress with the token of its call until the task ends, long after the call
// was answered.
type followed struct {
	by    map[string]*Call
	order []string
}

// Follow inspects an answer of a legacy server. A call that became a task keeps
// its token; a task that has ended releases it. Follow reports whether the call
// became a task.
func (t *Table) Follow(k *Call, req *jsonrpc.Request, resp *jsonrpc.Response) bool {
	switch req.Method {
	case mcp.MethodToolsCall:
		if k.token == 0 {
			return false
		}
		if id, ok := jsonrpc.GetString(resp.Result, "task", "taskId"); ok {
			t.keep(id, k)
			return true
		}
	case mcp.MethodTasksResult:
		id, _ := jsonrpc.GetString(req.Params, "taskId")
		t.unfollow(id)
	case mcp.MethodTasksGet, mcp.MethodTasksCancel:
		t.FollowStatus(resp.Result)
	}
	return false
}

// FollowStatus releases the token of a task if its status says that the task has
// ended.
func (t *Table) FollowStatus(task []byte) {
	if status, _ := jsonrpc.GetString(task, "status"); mcp.TaskEnded(status) {
		id, _ := jsonrpc.GetString(task, "taskId")
		t.unfollow(id)
	}
}

// Awaiting returns the call in flight that waits for the result of the task which
// a message names; nil if the message names no task or no call waits.
func (t *Table) Awaiting(params []byte) *Call {
	id, ok := jsonrpc.GetString(params, "_meta", mcp.RelatedTask, "taskId")
	if !ok {
		id, _ = jsonrpc.GetString(params, "taskId") // as in notifications/tasks/status
	}
	if id == "" {
		return nil
	}
	return t.Newest(func(k *Call) bool { return k.awaits == id })
}

// keep lets a call that became a task keep its token.
func (t *Table) keep(id string, k *Call) {
	t.mu.Lock()
	if t.followed.by == nil {
		t.followed.by = make(map[string]*Call)
	}
	oldest := ""
	if len(t.followed.order) >= maxFollowed {
		oldest = t.followed.order[0]
	}
	t.followed.by[id] = k
	t.followed.order = append(t.followed.order, id)
	k.task, k.Sent = true, jsonrpc.Request{}
	t.mu.Unlock()
	t.unfollow(oldest)
}

func (t *Table) unfollow(id string) {
	t.mu.Lock()
	k := t.followed.by[id]
	if k != nil {
		delete(t.followed.by, id)
		delete(t.byToken, k.token)
		t.followed.order = slices.DeleteFunc(t.followed.order, func(other string) bool { return other == id })
	}
	t.mu.Unlock()
	if k != nil {
		k.FinishProgress()
	}
}
