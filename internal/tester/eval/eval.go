// Package eval gives tasks to a model and checks which tools it picks, in each
// of the modes in which a gateway lists them.
//
// Every run is a client session: the listed tools are the functions of the
// model, and its calls are executed. The tools for finding other tools work
// normally. The gateway reports which tool the model finally picked, and with
// which arguments, also for a tool called through exec or run. This package
// answers the picked call itself; it never reaches the server.
package eval

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/suite"
)

// Modes lists the modes in which a gateway lists tools.
var Modes = []string{"full", "compact", "search", "code"}

// A Pick is a tool call of a model, as the gateway resolved it.
type Pick struct {
	Server, Tool string
	Arguments    json.RawMessage
	ReadOnly     bool
}

// Name returns the server and the tool.
func (p *Pick) Name() string { return p.Server + "." + p.Tool }

// A Runner runs the evals of one file.
type Runner struct {
	Suite *suite.Suite
	// Name is the API's name of the model.
	Name  string
	Model Model
	Modes []string
	// Runs is how often a task is given, Turns how often the model may answer.
	Runs, Turns Count
	// Parallel is the number of concurrent runs.
	Parallel int
	// Open opens a session in a mode. rehearse answers calls of servers' tools;
	// if it returns nil, the call is executed.
	Open func(ctx context.Context, mode string, rehearse func(Pick) *jsonrpc.Response) (s *probe.Session, end func(), err error)
	// OnRun is called after each run; it may be nil.
	OnRun func(Run)
}

// A Count is a number that a file may set and the command line may override.
type Count struct {
	Usual int
	Force int // set by the command line; 0 if unset
}

// Of returns the number. said is the value in the file, 0 if unset.
func (c Count) Of(said int) int {
	switch {
	case c.Force > 0:
		return c.Force
	case said > 0:
		return said
	}
	return c.Usual
}

// A Run is one task given once.
type Run struct {
	Eval string `json:"eval"`
	Mode string `json:"mode"`
	// Number counts the runs of an eval in a mode from 1.
	Number int  `json:"run"`
	Passed bool `json:"passed"`
	// Reason is why the run did not pass.
	Reason   string `json:"reason,omitempty"`
	ReasonZH string `json:"reasonZH,omitempty"`
	// Calls lists the calls of servers' tools, in order; the last one decided.
	Calls []Called `json:"calls"`
	// Turns counts the answers of the model, Lookups its calls of the gateway's
	// own tools.
	Turns   int `json:"turns"`
	Lookups int `json:"lookups"`
	// In and Out are tokens, as counted by the API.
	In  int `json:"tokensIn"`
	Out int `json:"tokensOut"`
	// Took is the total time of the model's answers.
	Took time.Duration `json:"took"`
}

// Called is a call of a tool.
type Called struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// Run runs every eval in every mode. An error means that the model could not be
// reached; the partial result is returned with it.
func (r *Runner) Run(ctx context.Context) (*Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	result := &Result{Path: r.Suite.Path, Model: r.Name, Modes: r.Modes}
	places := make(chan struct{}, max(r.Parallel, 1))
	var (
		wg sync.WaitGroup
		mu sync.Mutex
	)
	for i := range r.Suite.Evals {
		e := &r.Suite.Evals[i]
		if e.Skip != "" {
			result.Skipped = append(result.Skipped, Skipped{e.Name, e.Skip})
			continue
		}
		for _, mode := range r.Modes {
			row := &Row{Eval: e.Name, Mode: mode, MinRate: e.MinRate, runs: make([]*Run, r.Runs.Of(e.Runs))}
			result.Rows = append(result.Rows, row)
			for n := range row.runs {
				select {
				case places <- struct{}{}:
				case <-ctx.Done():
				}
				if ctx.Err() != nil {
					break
				}
				wg.Go(func() {
					defer func() { <-places }()
					run, err := r.once(ctx, e, mode, n+1)
					if err != nil {
						cancel(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					row.runs[n] = run
					if r.OnRun != nil {
						r.OnRun(*run)
					}
				})
			}
		}
	}
	wg.Wait()
	result.sum()
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	return result, nil
}

// once gives a task to the model once.
func (r *Runner) once(ctx context.Context, e *suite.Eval, mode string, number int) (*Run, error) {
	t := &trial{eval: e}
	session, end, err := r.Open(ctx, mode, t.rehearse)
	if err != nil {
		return nil, err
	}
	defer end()
	// A decision ends the call that caused it, because a script may run for
	// long.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.end = func() { cancel(errDecided) }
	c := &conversation{runner: r, trial: t, session: session, run: &Run{Eval: e.Name, Mode: mode, Number: number, Calls: []Called{}}}
	if err := c.hold(ctx); err != nil {
		return nil, err
	}
	c.run.Passed, c.run.Calls = t.passed, t.called()
	if !t.passed {
		c.run.Reason, c.run.ReasonZH = t.reason.Both()
	}
	return c.run, nil
}

var errDecided = i18n.Errorf("the run has been decided", "本次运行已有结果")
