// Package tasks keeps whose the tasks of servers are, runs scripts as tasks, and
// translates between the two dialects: the one of 2025-11-25, and the extension of
// the modern era.
// It calls no server by itself: a Link says how.
package tasks

import (
	"context"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/gateway/modern"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/upstream/project"
)

const (
	// maxTasks bounds the tasks whose owners are remembered; the oldest are
	// forgotten first.
	maxTasks = 100_000
	// keptResult is how long the result of a task is kept here, and
	// maxKeptResults are the bytes of all of them; the oldest go first.
	keptResult     = 10 * time.Minute
	maxKeptResults = 64 << 20
	// maxBridges bounds the tasks that are bridged at a time.
	maxBridges = 10_000
)

// A Key is a task of a server of a schema.
type Key struct{ Schema, Server, ID string }

// A task is what is remembered of one.
type task struct {
	owner string // the principal that began it
	// token is the raw progress token of the call that began it, where its client
	// speaks another dialect than its server; nil for none.
	token []byte
	// bridge is the task of a legacy server as a modern client sees it; nil for
	// any other.
	bridge *Bridge
	// job is the call that runs here as this task; nil for one of a server.
	job *Job
	// done is the result of a call that a modern server answered at once, though
	// its legacy client asked for a task; nil for any other.
	done *jsonrpc.Response
	// project is what the client worked on that began it.
	project *project.Project
	at      time.Time
	bytes   int // of the result that is kept
}

// A Book remembers which principal began each task. Servers do not know our
// principals, so they would give one's tasks to another.
type Book struct {
	mu      sync.Mutex
	by      map[Key]*task
	order   []Key // oldest first
	kept    []Key // those with results, oldest first
	bytes   int
	running int // bridges of tasks that have not ended
	closed  bool
	life    context.Context // of the bridges
	end     context.CancelCauseFunc
	wg      sync.WaitGroup
}

// NewBook returns a Book without tasks.
func NewBook() *Book {
	o := &Book{by: make(map[Key]*task)}
	o.life, o.end = context.WithCancelCause(context.Background())
	return o
}

// ownLocked notes the owner of a task. The first principal that is seen with it
// has begun it.
func (o *Book) ownLocked(k Key, principal string) *task {
	if t := o.by[k]; t != nil {
		return t
	}
	if len(o.order) >= maxTasks {
		delete(o.by, o.order[0])
		o.order = o.order[1:]
	}
	t := &task{owner: principal, at: time.Now()}
	o.by[k] = t
	o.order = append(o.order, k)
	return t
}

// note changes what is remembered of a task.
func (o *Book) note(k Key, principal string, change func(*task)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(o.ownLocked(k, principal))
}

// of is what is remembered of a task; false for nothing.
func (o *Book) of(k Key) (task, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.by[k]; t != nil {
		return *t, true
	}
	return task{}, false
}

// bridge returns the bridge of a task, made by start where there is none. It is
// nil where there are too many, and once the gateway ends.
func (o *Book) bridge(k Key, principal string, start func() *Bridge) *Bridge {
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
func (o *Book) ended() {
	o.mu.Lock()
	o.running--
	o.mu.Unlock()
}

// keep bounds the results that are kept: one more has so many bytes.
func (o *Book) keep(k Key, size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.by[k]
	if t == nil || slices.Contains(o.kept, k) {
		return
	}
	o.kept = append(o.kept, k)
	t.bytes = size
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

// remove removes a task that no client was told about.
func (o *Book) remove(k Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropLocked(k)
	delete(o.by, k)
	if at := slices.Index(o.order, k); at >= 0 {
		o.order = slices.Delete(o.order, at, at+1)
	}
}

// dropLocked forgets a result. Its server may still have it.
func (o *Book) dropLocked(k Key) {
	at := slices.Index(o.kept, k)
	if at < 0 {
		return
	}
	o.kept = slices.Delete(o.kept, at, at+1)
	if t := o.by[k]; t != nil {
		o.bytes -= t.bytes
		t.bytes, t.bridge, t.job, t.done = 0, nil, nil, nil
	}
}

// ListOf are the tasks that a principal began at a server, oldest first, at most
// max of the latest.
func (o *Book) ListOf(schema, server, principal string, most int) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var ids []string
	for _, k := range slices.Backward(o.order) {
		if k.Schema == schema && k.Server == server && o.by[k].owner == principal {
			if ids = append(ids, k.ID); len(ids) == most {
				break
			}
		}
	}
	slices.Reverse(ids)
	return ids
}

// Project is what the client worked on that began a task; false where nobody
// knows.
func (o *Book) Project(k Key) (*project.Project, bool) {
	t, known := o.of(k)
	return t.project, known
}

// Close ends the bridges and waits.
func (o *Book) Close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.end(modern.ErrExpired)
	o.wg.Wait()
}

// Belong says whether a task is the principal's own. A task that was begun
// before this process, or by others, belongs to those who are not told apart by
// keys, and to administrators.
func (o *Book) Belong(k Key, who *access.Principal) bool {
	if k.ID == "" {
		return true // a list, whose tasks are looked at one by one
	}
	if t, known := o.of(k); known {
		return t.owner == who.ID
	}
	return who.Admin || who.ID == access.Anonymous.ID
}
