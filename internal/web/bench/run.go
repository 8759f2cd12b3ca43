package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/history"
)

const (
	defaultIdle = 5 * time.Minute
	longestRun  = 60 * time.Minute
)

var (
	errRunCancelled = i18n.Errorf("cancelled by the user", "已由用户取消")
	errRunIdle      = i18n.Errorf("no answer and no progress in time", "在限定时间内没有应答，也没有进度")
	errRunTooLong   = i18n.Errorf("the call took longer than allowed", "调用超过了总时限")
)

// runKey is the context key of a run's id.
type runKey struct{}

// running is a run in progress.
type running struct {
	id     string
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer
}

// renew restarts the idle timer; hold stops it.
func (r *running) renew() { r.timer.Reset(r.idle) }
func (r *running) hold()  { r.timer.Stop() }

type callBody struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	// Idle and Limit are milliseconds: without progress, and in total.
	Idle  int64 `json:"idle"`
	Limit int64 `json:"limit"`
	Quiet bool  `json:"quiet"`
}

// start runs a call. Its progress is published as events.
func (x *bench) start(body *callBody) (*history.Run, error) {
	params, err := prepare(body.Method, body.Params)
	if err != nil {
		return nil, err
	}
	run := x.newRun(body.Method, params, body.Quiet)
	limit := min(time.Duration(body.Limit)*time.Millisecond, longestRun)
	if limit <= 0 {
		limit = longestRun
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(x.all.ctx, runKey{}, run.ID))
	ctx, stop := context.WithTimeoutCause(ctx, limit, errRunTooLong)
	r := &running{id: run.ID, cancel: cancel, idle: time.Duration(body.Idle) * time.Millisecond}
	if r.idle <= 0 {
		r.idle = defaultIdle
	}
	r.timer = time.AfterFunc(r.idle, func() { cancel(errRunIdle) })
	x.mu.Lock()
	x.running[run.ID] = r
	x.mu.Unlock()
	x.keep(history.KeptRun{Run: *run})
	x.publish(Event{Type: "run", Run: run})
	sent := params
	if params != nil && (body.Method == mcp.MethodToolsCall || body.Method == mcp.MethodResourcesRead) {
		sent = jsonrpc.Set(params, jsonrpc.Quote(run.ID), "_meta", "progressToken")
	}
	first := *run
	x.all.wg.Go(func() {
		defer stop()
		_, _ = x.finish(ctx, run, sent) // the error is in the run
		r.timer.Stop()
		cancel(nil)
	})
	return &first, nil
}

func (x *bench) finish(ctx context.Context, run *history.Run, params json.RawMessage) (*probe.Exchange, error) {
	began := time.Now()
	ex, err := x.send(ctx, chaosOf(x, run), run.Method, params)
	done := history.KeptRun{Run: *run}
	done.Total = time.Since(began)
	if ex != nil {
		done.Wire = wireOf(ex.Wire, began)
	}
	if status, why := outcomeOf(ctx, err); why != nil {
		done.Status, err = status, why
		done.Message, done.MessageZH = i18n.Why(err).Both()
	} else {
		done.Answered(ex, x.session.Redact)
	}
	x.mu.Lock()
	delete(x.running, run.ID)
	x.mu.Unlock()
	x.keep(done)
	x.publish(Event{Type: "run", Run: &done.Run})
	return ex, err
}

// chaosOf returns the faults to inject into a run; none for the page's own
// requests.
func chaosOf(x *bench, run *history.Run) Chaos {
	if run.Quiet {
		return Chaos{}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	run.Chaos = x.chaos.String()
	return x.chaos
}

// quiet makes a request of the page itself, such as a list. It is not in the
// history, but its wire messages are recorded like those of any other run.
func (x *bench) quiet(ctx context.Context, method string, params json.RawMessage) (*probe.Exchange, error) {
	return x.finish(ctx, x.newRun(method, params, true), params)
}

func (x *bench) newRun(method string, params json.RawMessage, quiet bool) *history.Run {
	return &history.Run{ID: newID(), Bench: x.id, Target: x.label(), From: x.target.From(), Method: method, Params: x.session.Redact(params),
		Name: probe.SubjectOf(params), Start: time.Now(), Status: "running", ReqSize: int64(len(params)), Quiet: quiet}
}

// shook records the handshake, the first request of a session.
func (x *bench) shook() {
	run := x.newRun(mcp.MethodInitialize, nil, true)
	if x.info.Era == mcp.Modern.String() {
		run.Method = mcp.MethodDiscover
	}
	run.Start, run.Total, run.Status, run.Kept, run.ResSize = x.opened, time.Since(x.opened), "ok", true, int64(len(x.info.Handshake))
	frames, began := x.session.Frames(), x.opened
	if len(frames) > 0 {
		began = frames[0].At
	}
	x.keep(history.KeptRun{Run: *run, Result: x.session.Redact(x.info.Handshake), Wire: wireOf(frames, began)})
}

// keep records a run. An error, for example a full disk, must not break a test:
// the run is still in memory.
func (x *bench) keep(k history.KeptRun) {
	if err := x.all.opt.History(x.owner.Owner()).Add(k); err != nil {
		x.all.opt.Log.Warn("keeping a run", "err", err)
	}
}

// From returns the target in a form that can be used again, without secrets.
func (t *Target) From() *history.RunTarget {
	out := &history.RunTarget{Server: t.Server, Schema: t.Schema, URL: t.URL, Protocol: t.Protocol}
	if t.Command != "" {
		out.Command = append([]string{t.Command}, t.Args...)
	}
	return out.Redacted()
}

// outcomeOf returns the status of a run without an answer, and the reason. A run
// that the user cancelled is cancelled even if a response arrives: a server
// whose question was withdrawn may respond before the call has ended.
func outcomeOf(ctx context.Context, err error) (status string, why error) {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errRunCancelled):
		return "cancelled", cause
	case err == nil:
		return "", nil
	case errors.Is(err, errCut):
		return "failed", err
	case errors.Is(cause, errRunIdle), errors.Is(cause, errRunTooLong):
		return "timeout", cause
	default:
		return "failed", err
	}
}

// label returns a readable name of the target.
func (x *bench) label() string {
	t := x.target
	switch {
	case t.Server != "" && t.Via == ViaGateway:
		return t.Server + " (via gateway)"
	case t.Server != "":
		return t.Server
	case t.Command != "":
		return i18n.Command(t.From().Command...)
	default:
		return t.From().String()
	}
}

// prepare checks params. It tidies the arguments of a prompt, which is a rule
// of the protocol and not of the form.
func prepare(method string, params json.RawMessage) (json.RawMessage, error) {
	params = bytes.TrimSpace(params)
	if len(params) == 0 || string(params) == "null" {
		return nil, nil
	}
	if !jsonrpc.Valid(params) || params[0] != '{' {
		return nil, i18n.Errorf("params must be a JSON object", "params 必须是 JSON 对象")
	}
	if method != mcp.MethodPromptsGet {
		return params, nil
	}
	return probe.TidyPrompt(params), nil
}
