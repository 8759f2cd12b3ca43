package gateway

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/script"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
)

// How many scripts may run, or wait, at once.
const (
	maxScripts    = 32
	maxScriptsKey = 8
)

// scripts counts those that run.
type scripts struct {
	mu  sync.Mutex
	all int
	by  map[string]int
}

// enter lets one more script run, or says why not.
func (c *scripts) enter(principal string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= maxScripts || c.by[principal] >= maxScriptsKey {
		return mcp.Failure(mcp.Overloaded, "", fmt.Sprintf("too many scripts run: at most %d, and %d of one client", maxScripts, maxScriptsKey))
	}
	if c.by == nil {
		c.by = make(map[string]int)
	}
	c.all++
	c.by[principal]++
	return nil
}

func (c *scripts) leave(principal string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.by[principal]--; c.by[principal] == 0 {
		delete(c.by, principal)
	}
}

// scriptKey leads from the context of a call to the script that makes it.
type scriptKey struct{}

// A scripted is the script that a call belongs to.
type scripted struct {
	watch *stopwatch
	code  string
}

// scriptOf is the script that makes a call; nil for none.
func scriptOf(ctx context.Context) *scripted {
	s, _ := ctx.Value(scriptKey{}).(*scripted)
	return s
}

// whileAsked stops the clock of the script that makes a call while a person is
// asked; the function that it returns lets it go on.
func whileAsked(ctx context.Context) func() {
	if s := scriptOf(ctx); s != nil {
		return s.watch.pause()
	}
	return func() {}
}

// scriptEnv adds to an environment what a script may reach on behalf of a call
// of run. Every request of it comes through Do, by a door of its own.
func (s *Session) scriptEnv(env *builtin.Env, c *Call, t *target) {
	p := c.client
	if p.caller.Era == mcp.Modern {
		// A server's questions are answered while the script waits: a script
		// is never run again.
		p.caller = &upstream.Caller{Principal: p.caller.Principal, Era: mcp.Modern, Version: p.caller.Version,
			Offer: p.caller.Offer, Info: p.caller.Info, LogLevel: p.caller.LogLevel, Rounds: true}
	}
	via := traffic.DoorRun
	if s.opening.Via == traffic.DoorCLI {
		via = traffic.DoorScript
	}
	meta := jsonrpc.Get(t.params, "_meta")
	token := jsonrpc.Get(meta, "progressToken")
	back := &scriptBack{Handler: p.back}
	if token != nil {
		env.Progress = progressOf(p.back, token)
		back.progress = env.Progress
		meta = jsonrpc.Set(meta, []byte(`"script"`), "progressToken") // ours, which never leaves
	}
	p.back = back
	do := func(ctx context.Context, call *Call) (*jsonrpc.Response, error) {
		if meta != nil {
			call.Params = jsonrpc.Set(call.Params, meta, "_meta")
		}
		call.Via, call.client = via, p
		return s.Do(ctx, call)
	}
	env.Call = func(ctx context.Context, server, tool string, arguments []byte) (*jsonrpc.Response, error) {
		params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(tool), "name")
		params = jsonrpc.Set(params, arguments, "arguments")
		return do(ctx, &Call{Method: mcp.MethodToolsCall, Server: server, Target: tool, Params: params})
	}
	env.Read = func(ctx context.Context, uri string) (*jsonrpc.Response, error) {
		return do(ctx, &Call{Method: mcp.MethodResourcesRead, Target: uri, Params: jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(uri), "uri")})
	}
	env.Prompt = func(ctx context.Context, server, name string, arguments []byte) (*jsonrpc.Response, error) {
		if server != "" {
			name = server + "__" + name
		}
		params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(name), "name")
		params = jsonrpc.Set(params, arguments, "arguments")
		return do(ctx, &Call{Method: mcp.MethodPromptsGet, Target: name, Params: params})
	}
	ask := env.Ask
	env.Ask = func(ctx context.Context, method string, params []byte) (*jsonrpc.Response, error) {
		defer whileAsked(ctx)()
		return ask(ctx, method, params)
	}
	env.Limits = s.scriptLimits()
	env.Script = s.runScript
	env.Saved = s.saved
}

// progressOf tells a client that a script goes on, counting up by one.
func progressOf(back jsonrpc.Handler, token []byte) func(context.Context, string) {
	token = append([]byte(nil), token...)
	var n atomic.Int64
	return func(ctx context.Context, message string) {
		params := fmt.Appendf(nil, `{"progressToken":%s,"progress":%d,"message":%s}`, token, n.Add(1), jsonrpc.Quote(message))
		back.HandleNotification(ctx, nil, &jsonrpc.Notification{Method: mcp.NotificationProgress, Params: params})
	}
}

// A scriptBack is the way back for what servers ask and say because of a
// script: the clock stops while a person is asked, and progress is reported for the
// script.
type scriptBack struct {
	jsonrpc.Handler
	progress func(context.Context, string)
}

func (b *scriptBack) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	defer whileAsked(ctx)()
	return b.Handler.Handle(ctx, from, req)
}

func (b *scriptBack) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	if n.Method != mcp.NotificationProgress {
		b.Handler.HandleNotification(ctx, from, n)
		return
	}
	if b.progress != nil {
		message, _ := jsonrpc.GetString(n.Params, "message")
		if message == "" {
			message = "progress " + string(jsonrpc.Get(n.Params, "progress"))
		}
		b.progress(ctx, message)
	}
}

// scriptLimits are the configuration's limits for scripts.
func (s *Session) scriptLimits() script.Limits {
	c := s.gw.config().Scripts
	return script.Limits{Memory: c.Memory, CPU: c.CPU, Timeout: c.Timeout, Calls: c.Calls, Parallel: c.Parallel, Output: c.Output}
}

// runScript runs a script within its limits. What it asks is asked in the
// context of the call that runs it.
func (s *Session) runScript(ctx context.Context, job *script.Job, asked jsonrpc.Handler) (*script.Outcome, error) {
	if s.gw.opt.Scripts == nil {
		return nil, mcp.Failure(mcp.PolicyDenied, "", "scripts cannot run here")
	}
	if err := s.gw.scripts.enter(s.opening.Who.ID); err != nil {
		return nil, err
	}
	defer s.gw.scripts.leave(s.opening.Who.ID)
	defer s.gw.opt.Scripts.Warm() // another may follow
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := newStopwatch(job.Limits.Timeout, func() { cancel(errOutOfTime) })
	defer watch.stop()
	within := context.WithValue(ctx, scriptKey{}, &scripted{watch, job.Code})
	o, err := s.gw.opt.Scripts.Run(ctx, job, inContext{within, asked})
	if context.Cause(ctx) == errOutOfTime {
		return &script.Outcome{Fault: &script.Fault{Name: "Limit", Limit: script.LimitTimeout}}, nil
	}
	return o, err
}

var errOutOfTime = jsonrpc.Errorf(jsonrpc.CodeInternal, "the script ran out of time")

// inContext answers in the context of the call that runs a script; a request
// also ends when the process that asks does.
type inContext struct {
	ctx   context.Context
	asked jsonrpc.Handler
}

func (h inContext) Handle(asking context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	ctx, cancel := context.WithCancelCause(h.ctx)
	defer cancel(nil)
	defer context.AfterFunc(asking, func() { cancel(context.Cause(asking)) })()
	return h.asked.Handle(ctx, from, req)
}

func (h inContext) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	h.asked.HandleNotification(ctx, from, n)
}

// keeper is whose the kept results of this session are.
func (s *Session) keeper() kept.Owner {
	return kept.Owner{Principal: s.opening.Who.ID, Schema: s.opening.Schema}
}

// hasCode says whether the session is shown run in the modes compact and
// search, too.
func (s *Session) hasCode() bool {
	code := s.schemaConfig().Code
	return code != nil && *code || s.opening.Who.Code
}

// isScript says whether a name is the tool by which the command line and test
// files run scripts, whatever the mode.
func (s *Session) isScript(name string) bool {
	return name == builtin.ScriptName && (s.opening.Via == traffic.DoorCLI || s.opening.Via == traffic.DoorConsole)
}

// modeKey is equal for sessions whose own tools are the same.
func (s *Session) modeKey(mode string) string {
	if s.hasCode() {
		mode += "+code"
	}
	if s.reads() {
		mode += "+read"
	}
	return mode
}
