// Package scripts runs the scripts of clients within their limits, stops their
// clocks while a person is asked, and notes from which servers they have something.
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

// Limits on the scripts that run or wait at once.
const (
	maxScripts    = 32
	maxScriptsKey = 8
)

// A Pool runs scripts and counts the running ones. The zero value is ready to
// use.
type Pool struct {
	mu  sync.Mutex
	all int
	by  map[string]int
}

// Enter counts one more script until leave is called, or returns an error if too
// many run. A script that runs with the context of Entered is not counted again.
func (p *Pool) Enter(principal string) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= maxScripts || p.by[principal] >= maxScriptsKey {
		return nil, mcp.Failure(mcp.Overloaded, "", fmt.Sprintf("too many scripts run: at most %d, and %d of one client", maxScripts, maxScriptsKey))
	}
	if p.by == nil {
		p.by = make(map[string]int)
	}
	p.all++
	p.by[principal]++
	return func() { p.leave(principal) }, nil
}

type enteredKey struct{}

// Entered returns the context for a script that Enter has counted.
func Entered(ctx context.Context) context.Context { return context.WithValue(ctx, enteredKey{}, true) }

type readingKey struct{}

// Reading returns the context for a script that claims to be read-only, and for
// all that it calls.
func Reading(ctx context.Context) context.Context { return context.WithValue(ctx, readingKey{}, true) }

// MayWrite reports whether a call may change something, as far as the script
// that makes it is concerned.
func MayWrite(ctx context.Context) bool { return ctx.Value(readingKey{}) == nil }

func (p *Pool) leave(principal string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.by[principal]--; p.by[principal] == 0 {
		delete(p.by, principal)
	}
}

// Running returns the number of running scripts.
func (p *Pool) Running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// scriptKey is the context key of the script that makes a call.
type scriptKey struct{}

// A scripted is a running script.
type scripted struct {
	watch *stopwatch
	code  string
	outer *scripted // the script that calls this one; nil for none

	mu       sync.Mutex
	consents map[[2]string]*consent // by server and tool
}

// Code returns the code of the script that makes a call; empty for none.
func Code(ctx context.Context) string {
	if s := scriptOf(ctx); s != nil {
		return s.code
	}
	return ""
}

// scriptOf returns the script that makes a call; nil for none.
func scriptOf(ctx context.Context) *scripted {
	s, _ := ctx.Value(scriptKey{}).(*scripted)
	return s
}

// whileAsked stops the clock of the script that makes a call while a person is
// asked. The returned function restarts it.
func whileAsked(ctx context.Context) func() {
	s := scriptOf(ctx)
	if s == nil {
		return func() {}
	}
	return s.pause()
}

// pause stops the clocks of a script and of the scripts that call it.
func (s *scripted) pause() func() {
	if s.outer == nil {
		return s.watch.pause()
	}
	outer, own := s.outer.pause(), s.watch.pause()
	return func() { own(); outer() }
}

// Run runs a script of a principal within its limits. If runner is nil, scripts
// are not available. Requests of the script run in the context of the call that
// runs it.
func (p *Pool) Run(ctx context.Context, runner *script.Runner, principal string, job *script.Job, asked jsonrpc.Handler) (*script.Outcome, error) {
	if runner == nil {
		return nil, mcp.Failure(mcp.PolicyDenied, "", "scripts cannot run here")
	}
	outer := scriptOf(ctx)
	if outer != nil && outer.outer != nil {
		return nil, mcp.Failure(mcp.PolicyDenied, "", "a script that a script calls may call no further script")
	}
	if outer != nil || ctx.Value(enteredKey{}) == nil {
		leave, err := p.Enter(principal)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	defer runner.Warm() // for the next script
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := newStopwatch(job.Limits.Timeout, func() { cancel(errOutOfTime) })
	defer watch.stop()
	within := context.WithValue(ctx, scriptKey{}, &scripted{watch: watch, code: job.Code, outer: outer})
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

// inContext handles requests in the context of the call that runs a script. A
// request is also cancelled when the process of the script ends.
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
