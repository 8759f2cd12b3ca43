// Package tasks records the owners of the servers' tasks, runs scripts as
// tasks, and translates between the two dialects: that of 2025-11-25, and the
// extension of the modern era. It calls no server itself: a Link does.
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
	// maxTasks bounds the tasks whose owners are recorded; the oldest are
	// dropped first.
	maxTasks = 100_000
	// keptResult is how long the result of a task is kept. maxKeptResults
	// bounds the bytes of all results; the oldest are dropped first.
	keptResult     = 10 * time.Minute
	maxKeptResults = 64 << 20
	// maxBridges bounds the tasks that run over bridges at the same time.
	maxBridges = 10_000
	// maxJobs bounds the scripts of one principal that run as tasks or whose
	// results are kept; the oldest results are dropped first.
	maxJobs = 64
	// overhead is what a kept result takes in addition to its size.
	overhead = 4 << 10
)

// A Key identifies a task of a server of a schema.
type Key struct{ Schema, Server, ID string }

// A task is the record of a task.
type task struct {
	owner string // the principal that began it
	// token is the raw progress token of the call that began the task, if
	// client and server speak different dialects; nil for none.
	token []byte
	// bridge shows the task of a legacy server to a modern client; nil for any
	// other task.
	bridge *Bridge
	// job is the script that runs as this task; nil for a task of a server.
	job *Job
	// done is the result of a call that a modern server answered at once
	// although its legacy client asked for a task; nil for any other task.
	done *jsonrpc.Response
	// project is the project of the client that began the task.
	project *project.Project
	at      time.Time
	bytes   int // size of the kept result
}

// A Book records which principal began each task. Servers do not know the
// gateway's principals, so they would show the tasks of one principal to
// another.
type Book struct {
	mu      sync.Mutex
	by      map[Key]*task
	order   []Key          // oldest first
	kept    []Key          // tasks with results, oldest first
	jobs    map[string]int // by principal: jobs that run or are kept
	bytes   int
	running int // bridges of tasks that have not ended
	closed  bool
	life    context.Context // of the bridges
	end     context.CancelCauseFunc
	wg      sync.WaitGroup
}

// NewBook returns a Book without tasks.
func NewBook() *Book {
	o := &Book{by: make(map[Key]*task), jobs: make(map[string]int)}
	o.life, o.end = context.WithCancelCause(context.Background())
	return o
}

// ownLocked records the owner of a task: the first principal that is seen with
// it.
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

// note changes the record of a task.
func (o *Book) note(k Key, principal string, change func(*task)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(o.ownLocked(k, principal))
}

// of returns the record of a task, or false if there is none.
func (o *Book) of(k Key) (task, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.by[k]; t != nil {
		return *t, true
	}
	return task{}, false
}

// bridge returns the bridge of a task; it calls start if there is none. It
// returns nil if there are too many bridges, or if the Book is closed.
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

// keep counts the result of a task, of size bytes, and drops the oldest results
// above the bound.
func (o *Book) keep(k Key, size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.by[k]
	if t == nil || slices.Contains(o.kept, k) {
		return
	}
	o.kept = append(o.kept, k)
	t.bytes = size + overhead
	o.bytes += t.bytes
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
	o.forgetJobLocked(o.by[k])
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
		o.forgetJobLocked(t)
		t.bytes, t.bridge, t.done = 0, nil, nil
	}
}

// forgetJobLocked forgets the job of a task, if there is one. t may be nil.
func (o *Book) forgetJobLocked(t *task) {
	if t == nil || t.job == nil {
		return
	}
	t.job = nil
	if o.jobs[t.owner]--; o.jobs[t.owner] == 0 {
		delete(o.jobs, t.owner)
	}
}

// roomLocked makes room for one more job of a principal, and returns false if
// too many run.
func (o *Book) roomLocked(principal string) bool {
	if o.jobs[principal] < maxJobs {
		return true
	}
	for _, k := range o.kept {
		if t := o.by[k]; t != nil && t.job != nil && t.owner == principal {
			o.dropLocked(k)
			return true
		}
	}
	return false
}

// ListOf returns the tasks that a principal began at a server, oldest first. It
// returns only the latest ones, at most most.
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

// Project returns the project of the client that began a task, or false if it
// is not known.
func (o *Book) Project(k Key) (*project.Project, bool) {
	t, known := o.of(k)
	return t.project, known
}

// Close ends the bridges and waits for them.
func (o *Book) Close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.end(modern.ErrExpired)
	o.wg.Wait()
}

// Belong reports whether a task belongs to the principal. A task with an
// unknown owner, for example one begun before this process started, belongs to
// principals without keys and to administrators.
func (o *Book) Belong(k Key, who *access.Principal) bool {
	if k.ID == "" {
		return true // a list; each of its tasks is checked later
	}
	if t, known := o.of(k); known {
		return t.owner == who.ID
	}
	return who.Admin || who.ID == access.Anonymous.ID
}
