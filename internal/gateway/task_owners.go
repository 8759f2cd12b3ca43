package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/gateway/modern"
	"mcp-all-in-one/internal/jsonrpc"
)

const (
	// maxTaskOwners bounds the tasks whose owners are remembered; the oldest are
	// forgotten first.
	maxTaskOwners = 100_000
	// keptResult is how long the result of a task is kept here, and
	// maxKeptResults are the bytes of all of them; the oldest go first.
	keptResult     = 10 * time.Minute
	maxKeptResults = 64 << 20
	// maxBridges bounds the tasks that are bridged at a time.
	maxBridges = 10_000
)

// A taskKey is a task of a server of a schema.
type taskKey struct{ schema, server, id string }

// A task is what is remembered of one.
type task struct {
	owner string // the principal that began it
	// token is the raw progress token of the call that began it, where its client
	// speaks another dialect than its server; nil for none.
	token []byte
	// bridge is the task of a legacy server as a modern client sees it; nil for
	// any other.
	bridge *bridgedTask
	// done is the result of a call that a modern server answered at once, though
	// its legacy client asked for a task; nil for any other.
	done *jsonrpc.Response
	at   time.Time
}

// taskOwners remembers which principal began each task. Servers do not know our
// principals, so they would give one's tasks to another.
type taskOwners struct {
	mu      sync.Mutex
	by      map[taskKey]*task
	order   []taskKey // oldest first
	kept    []taskKey // those with results, oldest first
	bytes   int
	running int // bridges of tasks that have not ended
	closed  bool
	life    context.Context // of the bridges
	end     context.CancelCauseFunc
	wg      sync.WaitGroup
}

func newTaskOwners() *taskOwners {
	o := &taskOwners{by: make(map[taskKey]*task)}
	o.life, o.end = context.WithCancelCause(context.Background())
	return o
}

// own notes the owner of a task. The first principal that is seen with it has
// begun it.
func (o *taskOwners) own(k taskKey, principal string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ownLocked(k, principal)
}

func (o *taskOwners) ownLocked(k taskKey, principal string) *task {
	if t := o.by[k]; t != nil {
		return t
	}
	if len(o.order) >= maxTaskOwners {
		delete(o.by, o.order[0])
		o.order = o.order[1:]
	}
	t := &task{owner: principal, at: time.Now()}
	o.by[k] = t
	o.order = append(o.order, k)
	return t
}

// note changes what is remembered of a task.
func (o *taskOwners) note(k taskKey, principal string, change func(*task)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(o.ownLocked(k, principal))
}

// of is what is remembered of a task; false for nothing.
func (o *taskOwners) of(k taskKey) (task, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.by[k]; t != nil {
		return *t, true
	}
	return task{}, false
}

// bridge returns the bridge of a task, made by start where there is none. It is
// nil where there are too many, and once the gateway ends.
func (o *taskOwners) bridge(k taskKey, principal string, start func() *bridgedTask) *bridgedTask {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.ownLocked(k, principal)
	if t.bridge == nil {
		if o.closed || o.running >= maxBridges {
			return nil
		}
		t.bridge = start()
		o.running++
		o.wg.Go(t.bridge.run)
	}
	return t.bridge
}

// ended notes that the task of a bridge has ended.
func (o *taskOwners) ended() {
	o.mu.Lock()
	o.running--
	o.mu.Unlock()
}

// keep bounds the results that are kept: one more has so many bytes.
func (o *taskOwners) keep(k taskKey, size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = append(o.kept, k)
	o.bytes += size
	for len(o.kept) > 1 && o.bytes > maxKeptResults {
		o.dropLocked(o.kept[0])
	}
	time.AfterFunc(keptResult, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.dropLocked(k)
	})
}

// dropLocked forgets a result. Its server may still have it.
func (o *taskOwners) dropLocked(k taskKey) {
	at := slices.Index(o.kept, k)
	if at < 0 {
		return
	}
	o.kept = slices.Delete(o.kept, at, at+1)
	if t := o.by[k]; t != nil {
		o.bytes -= t.size()
		t.bridge, t.done = nil, nil
	}
}

func (t *task) size() int {
	switch {
	case t.done != nil:
		return len(t.done.Result)
	case t.bridge != nil && t.bridge.resp != nil:
		return len(t.bridge.resp.Result)
	}
	return 0
}

// listOf are the tasks that a principal began at a server, oldest first, at most
// max of the latest.
func (o *taskOwners) listOf(schema, server, principal string, most int) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var ids []string
	for _, k := range slices.Backward(o.order) {
		if k.schema == schema && k.server == server && o.by[k].owner == principal {
			if ids = append(ids, k.id); len(ids) == most {
				break
			}
		}
	}
	slices.Reverse(ids)
	return ids
}

// close ends the bridges and waits.
func (o *taskOwners) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.end(modern.ErrExpired)
	o.wg.Wait()
}

// belong says whether a task is the principal's own. A task that was begun
// before this process, or by others, belongs to those who are not told apart by
// keys, and to administrators.
func (o *taskOwners) belong(k taskKey, who *access.Principal) bool {
	if k.id == "" {
		return true // a list, whose tasks are looked at one by one
	}
	if t, known := o.of(k); known {
		return t.owner == who.ID
	}
	return who.Admin || who.ID == access.Anonymous.ID
}

func taskNotFound(id string) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Task '%s' not found", clip(id))
}
