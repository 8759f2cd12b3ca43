package script

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/lazy"
	"mcp-all-in-one/internal/stdio"
)

// A Runner starts scripts, each in its own process. Its methods may be called
// concurrently.
type Runner struct {
	launcher *stdio.Launcher
	exe      string

	mu     sync.Mutex
	warm   *warming // may be nil
	closed bool
	wg     sync.WaitGroup
}

// NewRunner returns a Runner that starts the program exe through a launcher.
func NewRunner(launcher *stdio.Launcher, exe string) *Runner {
	return &Runner{launcher: launcher, exe: exe}
}

// A child is the process of one script.
type child struct {
	*stdio.Child
	conn *duplex.Conn
	host *host
}

// A host answers the requests of a script. Its handler is set when the job is
// known.
type host struct {
	mu sync.Mutex
	jsonrpc.Handler
}

func (h *host) handler() jsonrpc.Handler {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Handler
}

func (h *host) serve(by jsonrpc.Handler) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Handler = by
}

func (h *host) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if to := h.handler(); to != nil {
		return to.Handle(ctx, from, req)
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "no script runs")
}

func (h *host) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	if to := h.handler(); to != nil {
		to.HandleNotification(ctx, from, n)
	}
}

// maxAsked is how many unanswered requests of one script are read before the
// others wait.
const maxAsked = 256

func (r *Runner) start(ctx context.Context) (*child, error) {
	c, err := r.launcher.Start(ctx, stdio.Command{Name: "script", Path: r.exe, Args: []string{Command}, Dir: "/", MaxLine: maxLine})
	if err != nil {
		return nil, i18n.Errorf("starting the process of a script: %w", "启动脚本进程失败：%w", err)
	}
	h := &host{}
	conn := duplex.NewConn(c.Stream(), duplex.ConnOptions{Handler: h, Strict: true, MaxInFlight: maxAsked, Limits: jsonrpc.ScanLimits{Depth: maxDepth}})
	return &child{c, conn, h}, nil
}

// end kills the process and waits until it has ended.
func (c *child) end() {
	c.Kill()
	c.conn.Close()
	<-c.Done()
}

// leave waits until a process that has responded has ended. It ends by itself,
// which is cheaper than looking for the processes it might have started.
func (c *child) leave() {
	c.conn.Close()
	late := time.AfterFunc(leaveWait, c.Kill)
	defer late.Stop()
	<-c.Done()
}

// leaveWait is how long a process may take to end after its response.
const leaveWait = time.Second

// warmFor is how long an idle process waits for the next script.
const warmFor = 5 * time.Minute

// Warm starts a process that waits for the next script for a while.
func (r *Runner) Warm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.warm != nil {
		return
	}
	w := &warming{started: make(chan struct{})}
	r.warm = w
	w.cool = time.AfterFunc(warmFor, func() { r.drop(w) })
	r.wg.Go(func() {
		w.child, w.err = r.start(context.Background())
		close(w.started)
	})
}

// A warming is a process that waits for its job, or is being started.
type warming struct {
	started chan struct{} // closed once the other fields are set
	child   *child
	err     error
	cool    *time.Timer
}

// take returns a process for a script: the waiting one, or a new one. If one is
// being started, take waits for it, because it is ready sooner than another.
func (r *Runner) take(ctx context.Context) (*child, error) {
	w := r.waiting(nil)
	if w == nil {
		return r.start(ctx)
	}
	<-w.started
	if w.err != nil {
		return r.start(ctx)
	}
	select {
	case <-w.child.conn.Done():
		w.child.end()
		return r.start(ctx)
	default:
		return w.child, nil
	}
}

// waiting returns the waiting process, which the caller then owns. If only is
// set, it returns only that one.
func (r *Runner) waiting(only *warming) *warming {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.warm
	if w == nil || only != nil && w != only {
		return nil
	}
	r.warm = nil
	w.cool.Stop()
	return w
}

// drop ends the waiting process.
func (r *Runner) drop(only *warming) {
	if w := r.waiting(only); w != nil {
		<-w.started
		if w.err == nil {
			w.child.end()
		}
	}
}

// Close ends the waiting process, after the others have ended.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.wg.Wait()
	r.drop(nil)
}

// retire lets a process end in the background: the kernel takes longer to
// remove a process than a short script takes to run.
func (r *Runner) retire(c *child) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		c.end()
		return
	}
	r.wg.Go(c.leave)
}

// Run runs a script. asked handles its requests and its log notifications. When
// ctx ends, the script is stopped and the error is the cause. The script does
// not run any more when Run returns.
func (r *Runner) Run(ctx context.Context, job *Job, asked jsonrpc.Handler) (*Outcome, error) {
	job.Limits = job.Limits.Or(Defaults)
	params, err := json.Marshal(job)
	if err != nil {
		return nil, i18n.Errorf("writing the job of a script: %w", "写入脚本任务失败：%w", err)
	}
	c, err := r.take(ctx)
	if err != nil {
		return nil, err
	}
	c.host.serve(asked)
	resp, err := c.conn.Call(ctx, &jsonrpc.Request{Method: MethodRun, Params: params})
	c.host.serve(nil)
	if err != nil {
		c.end() // it may still compute
	} else {
		defer r.retire(c)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, jsonrpc.ErrTooLarge):
		return faulty("RangeError", "the script returned too much: return a part of it"), nil
	case err != nil:
		return c.died(job.Limits), nil
	case resp.Err != nil:
		return nil, resp.Err
	}
	return ReadOutcome(resp.Result)
}

// ReadOutcome parses an outcome that the process of a script sent. It does not
// trust the process.
func ReadOutcome(raw []byte) (*Outcome, error) {
	var o Outcome
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, i18n.Errorf("reading the outcome of a script: %w", "读取脚本结果失败：%w", err)
	}
	if !utf8.Valid(o.Value) {
		return nil, i18n.Errorf("the outcome of a script is not UTF-8", "脚本结果不是 UTF-8")
	}
	if o.Value != nil {
		o.Value = append(json.RawMessage(nil), o.Value...)
	}
	return &o, nil
}

// outOfMemory matches the output of the Go runtime when the kernel refuses
// memory. If the runtime accesses memory that it did not get, a line begins
// with the signal; in Go code that would be a panic.
var outOfMemory = lazy.Regexp(`(?m)out of memory|cannot allocate|pthread_create failed|failed to create new OS thread|^SIGSEGV: `)

// died returns why a process ended without a response: the kernel or its own
// runtime ended it.
func (c *child) died(l Limits) *Outcome {
	c.end()
	said := strings.Join(c.Stderr().Lines(0), "\n")
	limit := LimitMemory
	switch {
	case strings.Contains(said, "stack overflow") || strings.Contains(said, "stack exceeds"):
		limit = LimitDepth
	case strings.Contains(said, "SIGXCPU") || c.Exit().Signal == "SIGXCPU":
		limit = LimitCPU
	case !outOfMemory().MatchString(said) && c.Exit().Signal != "SIGKILL":
		first, _, _ := strings.Cut(said, "\n")
		return faulty("InternalError", "the process of the script ended: "+c.Exit().String()+" "+first)
	}
	return &Outcome{Fault: &Fault{Name: "Limit", Limit: limit}, CPU: l.CPU}
}
