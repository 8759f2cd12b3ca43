package tasks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/gateway/modern"
	"mcp-all-in-one/internal/gateway/refusal"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Declared is the task capability of the gateway itself.
const Declared = `{"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`

// jobPoll is the poll interval that clients are told for tasks of the gateway.
const jobPoll = 250 * time.Millisecond

// A Job is a script that runs as a task. It speaks the dialect of 2025-11-25; a
// Bridge shows it to a modern client.
type Job struct {
	key   Key
	begun time.Time
	// sources returns the servers from which the script has something so far.
	sources func() []string
	done    chan struct{} // closed once resp and err are set

	mu      sync.Mutex
	cancel  context.CancelCauseFunc // nil once it has ended: it holds on to the request
	outside jsonrpc.Handler         // gets the notifications while no client waits for the result; nil once it has ended
	updated time.Time
	message string            // the latest progress
	asked   int               // questions that wait for an answer
	waiters []jsonrpc.Handler // handlers of the clients that wait for the result
	there   chan struct{}     // closed when a client waits
	ended   bool              // it was cancelled
	resp    *jsonrpc.Response
	err     error
}

var errCancelled = jsonrpc.Errorf(jsonrpc.CodeInternal, "the task was cancelled")

// Run runs a call as a task of the link's principal, and returns the task in
// the dialect of the client. run gets the handler for the questions and
// notifications of the call. The link's Back gets the notifications while no
// client waits for the result.
func (o *Book) Run(ctx context.Context, link Link, run func(context.Context, jsonrpc.Handler) (*jsonrpc.Response, error)) (*jsonrpc.Response, error) {
	j := &Job{key: Key{link.Schema, "", modern.RandomID()}, sources: link.Sources, outside: link.Back, begun: time.Now(), done: make(chan struct{}), there: make(chan struct{})}
	j.updated = j.begun
	begin := func() (*jsonrpc.Response, error) {
		if err := o.begin(ctx, j, link, run); err != nil {
			return nil, err
		}
		return &jsonrpc.Response{Result: jsonrpc.Set([]byte(`{}`), j.told(), "task")}, nil
	}
	if mcp.Rules(link.Version).Era == mcp.Legacy {
		return link.named(begin())
	}
	task, err := begin()
	if err != nil {
		return nil, err
	}
	if j.quick(ctx) {
		o.remove(j.key)
		return j.resp, j.err
	}
	link.Back = nil
	link.Call = func(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
		if req.Method == mcp.MethodToolsCall {
			return task, nil
		}
		return j.answer(ctx, req)
	}
	bridge := o.NewBridge(o.life, link, func(result []byte) []byte { return result }, func() {})
	resp, _, err := bridge.Begin(ctx, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(`{}`)})
	return link.named(resp, err)
}

// quick reports whether a job ends before a client would poll for the first
// time. Its result is then the answer: in the modern dialect the server chooses
// whether there is a task. If the client cancels its request, the job is
// cancelled.
func (j *Job) quick(ctx context.Context) bool {
	select {
	case <-j.done:
		return true
	case <-time.After(jobPoll):
		return false
	case <-ctx.Done():
		j.stop(context.Cause(ctx))
		<-j.done
		return true
	}
}

// named is an answer about tasks with the ids that the client knows.
func (l Link) named(resp *jsonrpc.Response, err error) (*jsonrpc.Response, error) {
	if err == nil && resp.Err == nil {
		resp.Result = l.Rename(resp.Result)
	}
	return resp, err
}

// Wanted reports whether a call that can run as a task should do so. A legacy
// client has to ask for a task; with a modern client the server decides.
func Wanted(rules mcp.Version, offer mcp.Offer, params []byte) bool {
	if rules.Era == mcp.Modern {
		return offer.TakesTasks()
	}
	return rules.SampleTools && jsonrpc.Get(params, "task") != nil
}

// begin starts a job, unless there are too many.
func (o *Book) begin(ctx context.Context, j *Job, link Link, run func(context.Context, jsonrpc.Handler) (*jsonrpc.Response, error)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	full := o.jobs[link.Principal] >= maxJobs
	drop := oldest(o, link.Principal, true)
	if o.closed || o.running >= maxBridges || full && drop == (Key{}) {
		return tooMany()
	}
	leave, err := link.Enter()
	if err != nil {
		return err
	}
	if full {
		o.dropLocked(drop)
	}
	o.ownLocked(j.key, link.Principal).job = j
	o.jobs[link.Principal]++
	o.running++
	ctx, j.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	o.wg.Go(func() {
		defer context.AfterFunc(o.life, func() { j.stop(modern.ErrExpired) })()
		resp, err := run(ctx, j)
		leave()
		size := j.finish(resp, err)
		o.ended()
		o.keep(j.key, size)
	})
	return nil
}

// End stops the scripts of a principal that lost access. The request that began
// one is over, so the end of the client's sessions does not stop it.
func End(o *Book, principal string, why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range o.owned[principal] {
		if job := o.by[k].job; job != nil {
			job.stop(why)
		}
	}
}

// stop cancels the script, unless it has ended.
func (j *Job) stop(why error) {
	j.mu.Lock()
	cancel := j.cancel
	j.mu.Unlock()
	if cancel != nil {
		cancel(why)
	}
}

// finish stores the outcome of a job and returns its size. From then on the job
// has nothing else of the request that began it.
func (j *Job) finish(resp *jsonrpc.Response, err error) (size int) {
	if err == nil {
		kept := &jsonrpc.Response{Result: append([]byte(nil), resp.Result...), Err: resp.Err}
		resp.Release()
		resp = kept
	}
	j.mu.Lock()
	j.resp, j.err, j.updated = resp, err, time.Now()
	j.cancel(nil)
	j.cancel, j.outside = nil, nil
	j.mu.Unlock()
	close(j.done)
	return sizeOf(resp, err)
}

// sizeOf returns the size of an outcome.
func sizeOf(resp *jsonrpc.Response, err error) int {
	switch {
	case err != nil:
		return len(err.Error())
	case resp.Err != nil:
		return len(resp.Err.Message) + len(resp.Err.Data)
	}
	return len(resp.Result)
}

// OfOurs reports whether a task is a job of the gateway.
func (o *Book) OfOurs(k Key) bool {
	t, _ := o.of(k)
	return t.job != nil
}

// ListOurs returns the jobs of a principal, in the format of 2025-11-25.
func (o *Book) ListOurs(schema string, who *access.Principal, most int) (list [][]byte) {
	for _, id := range o.ListOf(schema, "", who.Owner(), most) {
		k := Key{schema, "", id}
		if t, _ := o.of(k); t.job != nil && o.Belong(k, who) {
			list = append(list, t.job.told())
		}
	}
	return list
}

// AnswerOurs answers a client's request about a job.
func (o *Book) AnswerOurs(ctx context.Context, link Link, id string, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	legacy := mcp.Rules(link.Version).Era == mcp.Legacy
	switch t, _ := o.of(Key{link.Schema, "", id}); {
	case legacy && t.job != nil:
		return link.named(t.job.answer(ctx, req))
	case !legacy && t.bridge != nil:
		return link.named(t.bridge.Answer(ctx, req.Method, req.Params))
	}
	return nil, refusal.NoTask(id)
}

// answer answers a request about the job.
func (j *Job) answer(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	switch req.Method {
	case mcp.MethodTasksGet:
		return &jsonrpc.Response{Result: j.told()}, nil
	case mcp.MethodTasksCancel:
		return j.end()
	case mcp.MethodTasksResult:
		return j.result(ctx, req.Back)
	}
	return nil, jsonrpc.MethodNotFound(req.Method, "not a method of "+mcp.LatestLegacy)
}

// told returns the job as a task in the format of 2025-11-25.
func (j *Job) told() []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	status := "working"
	switch {
	case j.ended:
		status = "cancelled"
	case j.err != nil || j.resp != nil && (j.resp.Err != nil || string(jsonrpc.Get(j.resp.Result, "isError")) == "true"):
		status = "failed"
	case j.resp != nil:
		status = "completed"
	case j.asked > 0:
		status = "input_required"
	}
	when := func(t time.Time) []byte { return jsonrpc.Quote(t.UTC().Format(time.RFC3339Nano)) }
	told := fmt.Appendf(nil, `{"taskId":%s,"status":%q,"createdAt":%s,"lastUpdatedAt":%s,"ttl":%d,"pollInterval":%d}`,
		jsonrpc.Quote(j.key.ID), status, when(j.begun), when(j.updated), keptResult.Milliseconds(), jobPoll.Milliseconds())
	if j.message != "" {
		told = jsonrpc.Set(told, jsonrpc.Quote(j.message), "statusMessage")
	}
	return told
}

// end cancels the job: it ends the process and the calls of the script.
func (j *Job) end() (*jsonrpc.Response, error) {
	j.mu.Lock()
	over := j.ended || j.resp != nil || j.err != nil
	if !over {
		j.ended, j.updated = true, time.Now()
	}
	j.mu.Unlock()
	if over {
		return nil, jsonrpc.InvalidParams("task '%s' has ended", refusal.Clip(j.key.ID))
	}
	j.stop(errCancelled)
	return &jsonrpc.Response{Result: j.told()}, nil
}

// result waits for the end of the job. Until then back handles the questions of
// the job.
func (j *Job) result(ctx context.Context, back jsonrpc.Handler) (*jsonrpc.Response, error) {
	if back != nil {
		j.mu.Lock()
		if j.waiters = append(j.waiters, back); len(j.waiters) == 1 {
			close(j.there)
		}
		j.mu.Unlock()
		defer j.leave(back)
	}
	select {
	case <-j.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.ended:
		return nil, jsonrpc.InvalidParams("task '%s' was cancelled", refusal.Clip(j.key.ID))
	case j.err != nil || j.resp.Err != nil:
		return j.resp, j.err
	}
	return &jsonrpc.Response{Result: relate(append([]byte(nil), j.resp.Result...), j.key.ID)}, nil
}

func (j *Job) leave(back jsonrpc.Handler) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i := slices.Index(j.waiters, back)
	if j.waiters = slices.Delete(j.waiters, i, i+1); len(j.waiters) == 0 {
		j.there = make(chan struct{})
	}
}

// waiter returns the handler of the client that waits for the result. It is nil
// while no client waits; then the channel is closed when one does.
func (j *Job) waiter() (back jsonrpc.Handler, there chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := len(j.waiters); n > 0 {
		back = j.waiters[n-1]
	}
	return back, j.there
}

// question changes the number of open questions.
func (j *Job) question(more int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked += more
	j.updated = time.Now()
}

// Handle asks the client a question of the job while the client waits for the
// result. If the client leaves, the next waiting client is asked.
func (j *Job) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	j.question(1)
	defer j.question(-1)
	req = &jsonrpc.Request{Method: req.Method, Params: relate(jsonrpc.AsObject(req.Params), j.key.ID)}
	for {
		back, there := j.waiter()
		if back == nil {
			select {
			case <-there:
				continue
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		resp, err := back.Handle(ctx, from, req)
		var wire *jsonrpc.Error
		if now, _ := j.waiter(); err == nil || now == back || errors.As(err, &wire) || ctx.Err() != nil {
			return resp, err
		}
	}
}

// HandleNotification stores the progress of the job and tells the client.
func (j *Job) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	if n.Method == mcp.NotificationProgress {
		j.mu.Lock()
		j.message, j.updated = progressText(n.Params), time.Now()
		j.mu.Unlock()
	}
	back, _ := j.waiter()
	if back == nil {
		j.mu.Lock()
		back = j.outside
		j.mu.Unlock()
	}
	if back != nil {
		back.HandleNotification(ctx, from, n)
	}
}
