// Package tasks records the owners of the servers' tasks, runs scripts as
// tasks, and translates between the two dialects: the tasks of 2025-11-25, and
// the extension of the modern era. It calls no server itself: a Link does.
package tasks

import (
	"container/list"
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
	// maxTasks bounds the tasks whose owners are recorded; the oldest ones of
	// the same principal are dropped first, and none that runs.
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
	// overhead is the memory of a kept result besides its text.
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
	bytes   int           // size of the kept result
	kept    *list.Element // its place among the kept results; nil if it has none
}

// runs reports whether the gateway waits for the end of the task.
func (t *task) runs() bool { return (t.job != nil || t.bridge != nil) && t.kept == nil }

// A Book records which principal began each task. Servers do not know the
// gateway's principals, so they would show the tasks of one principal to
// another.
type Book struct {
	mu      sync.Mutex
	by      map[Key]*task
	most    int              // how many tasks are recorded
	owned   map[string][]Key // by principal, oldest first
	kept    list.List        // Keys of tasks with results, oldest first
	jobs    map[string]int   // by principal: jobs that run or are kept
	bytes   int
	running int // bridges of tasks that have not ended
	closed  bool
	life    context.Context // of the bridges
	end     context.CancelCauseFunc
	wg      sync.WaitGroup
}

// NewBook returns a Book without tasks.
func NewBook() *Book {
	o := &Book{most: maxTasks, by: make(map[Key]*task), owned: make(map[string][]Key), jobs: make(map[string]int)}
	o.life, o.end = context.WithCancelCause(context.Background())
	return o
}

// ownLocked records the owner of a task: the first principal that is seen with
// it.
func (o *Book) ownLocked(k Key, principal string) *task {
	if t := o.by[k]; t != nil {
		return t
	}
	if len(o.by) >= o.most && !o.forgetOldestLocked(principal) {
		most := principal
		for who, keys := range o.owned {
			if len(keys) > len(o.owned[most]) {
				most = who
			}
		}
		o.forgetOldestLocked(most)
	}
	t := &task{owner: principal, at: time.Now()}
	o.by[k] = t
	o.owned[principal] = append(o.owned[principal], k)
	return t
}

// forgetOldestLocked forgets the oldest task of a principal that does not run.
// It returns false if there is none.
func (o *Book) forgetOldestLocked(principal string) bool {
	keys := o.owned[principal]
	for i, k := range keys {
		if !o.by[k].runs() {
			copy(keys[1:], keys[:i]) // there are fewer older tasks than newer ones
			o.owned[principal] = keys[1:]
			o.forgetLocked(k)
			return true
		}
	}
	return false
}

// forgetLocked forgets a task that its owner's list no longer contains.
func (o *Book) forgetLocked(k Key) {
	o.dropLocked(k)
	t := o.by[k]
	forgetJob(o, t)
	delete(o.by, k)
	if len(o.owned[t.owner]) == 0 {
		delete(o.owned, t.owner)
	}
}

// forgetBefore forgets a task that began before a time and does not run.
func forgetBefore(o *Book, k Key, start time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.by[k]; t != nil && !t.runs() && t.at.Before(start) {
		o.owned[t.owner] = slices.DeleteFunc(o.owned[t.owner], func(one Key) bool { return one == k })
		o.forgetLocked(k)
	}
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
	if t == nil || t.kept != nil {
		return
	}
	t.kept = o.kept.PushBack(k)
	t.bytes = size + overhead
	o.bytes += t.bytes
	for o.kept.Len() > 1 && o.bytes > maxKeptResults {
		if first := oldest(o, t.owner, false); first != k {
			o.dropLocked(first)
		} else {
			o.dropLocked(o.kept.Front().Value.(Key))
		}
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
	t := o.by[k]
	if t == nil {
		return
	}
	keys := o.owned[t.owner]
	for i, key := range slices.Backward(keys) { // it is one of the newest
		if key == k {
			o.owned[t.owner] = slices.Delete(keys, i, i+1)
			break
		}
	}
	o.forgetLocked(k)
}

// dropLocked forgets a result. Its server may still have it.
func (o *Book) dropLocked(k Key) {
	t := o.by[k]
	if t == nil || t.kept == nil {
		return
	}
	o.kept.Remove(t.kept)
	o.bytes -= t.bytes
	forgetJob(o, t)
	t.bytes, t.kept, t.bridge, t.done = 0, nil, nil, nil
}

// oldest returns the oldest task of a principal, or its oldest job, whose
// result is kept.
func oldest(o *Book, principal string, job bool) (k Key) {
	for e := o.kept.Front(); e != nil; e = e.Next() {
		k = e.Value.(Key)
		if t := o.by[k]; t.owner == principal && (t.job != nil || !job) {
			return k
		}
	}
	return Key{}
}

// forgetJob forgets the job of a task, if there is one.
func forgetJob(o *Book, t *task) {
	if t.job == nil {
		return
	}
	t.job = nil
	if o.jobs[t.owner]--; o.jobs[t.owner] == 0 {
		delete(o.jobs, t.owner)
	}
}

// ListOf returns the tasks that a principal began at a server, oldest first. It
// returns only the latest ones, at most most.
func (o *Book) ListOf(schema, server, principal string, most int) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var ids []string
	for _, k := range slices.Backward(o.owned[principal]) {
		if k.Schema == schema && k.Server == server {
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

// Belong reports whether a task belongs to the principal and, if it is a script,
// whether the principal sees all servers from which it has something. A task with an
// unknown owner, for example one begun before this process started, belongs to
// principals without keys and to administrators.
func (o *Book) Belong(k Key, who *access.Principal) bool {
	if k.ID == "" {
		return true // a list; each of its tasks is checked later
	}
	if t, known := o.of(k); known {
		return who.Owns(t.owner) && (t.job == nil || who.MaySeeAll(k.Schema, t.job.sources()))
	}
	return who.Admin || who.ID == access.Anonymous.ID
}
