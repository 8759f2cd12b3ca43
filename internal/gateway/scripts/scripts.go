// Package scripts runs the scripts of clients within their bounds, and stops
// their clocks while a person is asked.
package scripts

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/script"
)

// How many scripts may run, or wait, at once.
const (
	maxScripts    = 32
	maxScriptsKey = 8
)

// A Pool runs scripts and counts those that run. The zero value runs none yet.
type Pool struct {
	mu  sync.Mutex
	all int
	by  map[string]int
}

// enter lets one more script run, or says why not.
func (p *Pool) enter(principal string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= maxScripts || p.by[principal] >= maxScriptsKey {
		return mcp.Failure(mcp.Overloaded, "", fmt.Sprintf("too many scripts run: at most %d, and %d of one client", maxScripts, maxScriptsKey))
	}
	if p.by == nil {
		p.by = make(map[string]int)
	}
	p.all++
	p.by[principal]++
	return nil
}

func (p *Pool) leave(principal string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.by[principal]--; p.by[principal] == 0 {
		delete(p.by, principal)
	}
}

// Running is how many scripts run.
func (p *Pool) Running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// scriptKey leads from the context of a call to the script that makes it.
type scriptKey struct{}

// A scripted is the script that a call belongs to.
type scripted struct {
	watch *stopwatch
	code  string

	mu       sync.Mutex
	consents map[[2]string]*consent // by server and tool
}

// Code is the script that makes a call; empty for none.
func Code(ctx context.Context) string {
	if s := scriptOf(ctx); s != nil {
		return s.code
	}
	return ""
}

// scriptOf is the script that makes a call; nil for none.
func scriptOf(ctx context.Context) *scripted {
	s, _ := ctx.Value(scriptKey{}).(*scripted)
	return s
}

// WhileAsked stops the clock of the script that makes a call while a person is
// asked; the function that it returns lets it go on.
func WhileAsked(ctx context.Context) func() {
	if s := scriptOf(ctx); s != nil {
		return s.watch.pause()
	}
	return func() {}
}

// Run runs a script of a principal within its limits; a nil runner runs none.
// What the script asks is asked in the context of the call that runs it.
func (p *Pool) Run(ctx context.Context, runner *script.Runner, principal string, job *script.Job, asked jsonrpc.Handler) (*script.Outcome, error) {
	if runner == nil {
		return nil, mcp.Failure(mcp.PolicyDenied, "", "scripts cannot run here")
	}
	if err := p.enter(principal); err != nil {
		return nil, err
	}
	defer p.leave(principal)
	defer runner.Warm() // another may follow
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := newStopwatch(job.Limits.Timeout, func() { cancel(errOutOfTime) })
	defer watch.stop()
	within := context.WithValue(ctx, scriptKey{}, &scripted{watch: watch, code: job.Code})
	o, err := runner.Run(ctx, job, inContext{within, asked})
	if context.Cause(ctx) == errOutOfTime {
		return &script.Outcome{Fault: &script.Fault{Name: "Limit", Limit: script.LimitTimeout}}, nil
	}
	if err != nil && errors.Is(context.Cause(ctx), mcp.CutShort) {
		return &script.Outcome{Fault: &script.Fault{Name: "Shutdown", Limit: script.LimitShutdown}}, nil
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
