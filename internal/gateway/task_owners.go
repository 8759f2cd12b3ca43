package gateway

import (
	"sync"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/jsonrpc"
)

// maxTaskOwners bounds the tasks whose owners are remembered; the oldest are
// forgotten first.
const maxTaskOwners = 100_000

// A taskKey is a task of a server of a schema.
type taskKey struct{ schema, server, id string }

// taskOwners remembers which principal began each task. Servers do not know our
// principals, so they would give one's tasks to another.
type taskOwners struct {
	mu    sync.Mutex
	by    map[taskKey]string
	order []taskKey // oldest first
}

// own notes the owner of a task. The first principal that is seen with it has
// begun it.
func (o *taskOwners) own(k taskKey, principal string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.by[k]; known {
		return
	}
	if o.by == nil {
		o.by = make(map[taskKey]string)
	}
	if len(o.order) >= maxTaskOwners {
		delete(o.by, o.order[0])
		o.order = o.order[1:]
	}
	o.by[k] = principal
	o.order = append(o.order, k)
}

// belong says whether a task is the principal's own. A task that was begun
// before this process, or by others, belongs to those who are not told apart by
// keys, and to administrators.
func (o *taskOwners) belong(k taskKey, who *access.Principal) bool {
	if k.id == "" {
		return true // a list, whose tasks are looked at one by one
	}
	o.mu.Lock()
	owner, known := o.by[k]
	o.mu.Unlock()
	if known {
		return owner == who.ID
	}
	return who.Admin || who.ID == access.Anonymous.ID
}

func taskNotFound(id string) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Task '%s' not found", clip(id))
}
