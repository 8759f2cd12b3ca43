package upstream

import (
	"slices"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// maxFollowed bounds the tasks of one connection whose progress is passed on;
// the oldest are forgotten first.
const maxFollowed = 1000

// followed are the calls that became tasks of 2025-11-25. Such a task reports
// progress with the token of its call until it ends, long after the call was
// answered.
type followed struct {
	by    map[string]*call
	order []string
}

// follow looks at an answer of a legacy server: a call that became a task keeps
// its token, and a task that has ended gives it back. It says whether the call
// became one.
func (l *link) follow(k *call, req *jsonrpc.Request, resp *jsonrpc.Response) bool {
	switch req.Method {
	case mcp.MethodToolsCall:
		if k.token == 0 {
			return false
		}
		if id, ok := jsonrpc.GetString(resp.Result, "task", "taskId"); ok {
			l.keep(id, k)
			return true
		}
	case mcp.MethodTasksResult:
		id, _ := jsonrpc.GetString(req.Params, "taskId")
		l.unfollow(id)
	case mcp.MethodTasksGet, mcp.MethodTasksCancel:
		l.followStatus(resp.Result)
	}
	return false
}

// followStatus looks at the state of a task.
func (l *link) followStatus(task []byte) {
	if status, _ := jsonrpc.GetString(task, "status"); mcp.TaskEnded(status) {
		id, _ := jsonrpc.GetString(task, "taskId")
		l.unfollow(id)
	}
}

// awaiting returns the call in flight that waits for the result of the task
// which a question names; nil where it names none.
func (l *link) awaiting(params []byte) *call {
	id, ok := jsonrpc.GetString(params, "_meta", mcp.RelatedTask, "taskId")
	if !ok || id == "" {
		return nil
	}
	return l.newest(func(k *call) bool { return k.awaits == id })
}

// keep lets the call that became a task keep its token.
func (l *link) keep(id string, k *call) {
	l.mu.Lock()
	if l.followed.by == nil {
		l.followed.by = make(map[string]*call)
	}
	oldest := ""
	if len(l.followed.order) >= maxFollowed {
		oldest = l.followed.order[0]
	}
	l.followed.by[id] = k
	l.followed.order = append(l.followed.order, id)
	k.task, k.sent = true, jsonrpc.Request{}
	l.mu.Unlock()
	l.unfollow(oldest)
}

func (l *link) unfollow(id string) {
	l.mu.Lock()
	k := l.followed.by[id]
	if k != nil {
		delete(l.followed.by, id)
		delete(l.byToken, k.token)
		l.followed.order = slices.DeleteFunc(l.followed.order, func(other string) bool { return other == id })
	}
	l.mu.Unlock()
	if k != nil {
		k.finishProgress()
	}
}
