// Package eval gives tasks to a model and looks at which tools it picks, in each
// of the modes in which a gateway shows them.
//
// Every run is a session of a client: the tools that it lists are the functions
// of the model, and what the model calls is called. The tools by which a model
// finds others answer for real. Which tool it picked in the end, and with which
// arguments, the gateway says, which finds the tool behind exec and run too. The
// pick itself is answered here, and its server never hears of it.
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

// Modes are those in which a gateway shows tools.
var Modes = []string{"full", "compact", "search", "code"}

// A Pick is a call of a tool that a model made, as the gateway understood it.
type Pick struct {
	Server, Tool string
	Arguments    json.RawMessage
	ReadOnly     bool
}

// Name is the tool and its server.
func (p *Pick) Name() string { return p.Server + "." + p.Tool }

// A Runner runs the evals of one file.
type Runner struct {
	Suite *suite.Suite
	// Name is what the API calls the model.
	Name  string
	Model Model
	Modes []string
	// Runs is how often a task is given, Turns how often the model may answer.
	Runs, Turns Count
	// Parallel is how many runs go on at once.
	Parallel int
	// Open opens a session in a mode. Calls of servers' tools are answered by
	// rehearse; where it returns nil, they run.
	Open func(ctx context.Context, mode string, rehearse func(Pick) *jsonrpc.Response) (s *probe.Session, end func(), err error)
	// OnRun hears of each run as it ends; it may be nil.
	OnRun func(Run)
}

// A Count is a number that a file may say, and the command line instead.
type Count struct {
	Usual int
	Force int // what the command line says; 0 when it says nothing
}

// Of is the number, where the file says another or nothing.
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
	// Reason says why it did not pass.
	Reason   string `json:"reason,omitempty"`
	ReasonZH string `json:"reasonZH,omitempty"`
	// Calls are the calls of servers' tools, in order; the last one decided.
	Calls []Called `json:"calls"`
	// Turns are the answers of the model, Lookups its calls of the gateway's own
	// tools.
	Turns   int `json:"turns"`
	Lookups int `json:"lookups"`
	// In and Out are tokens, as the API counts them.
	In  int `json:"tokensIn"`
	Out int `json:"tokensOut"`
	// Took is how long the model thought.
	Took time.Duration `json:"took"`
}

// Called is a call of a tool.
type Called struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// Run runs every eval in every mode. An error says that the model could not be
// asked; what was done until then is returned beside it.
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
	// What is decided ends the call that decided it: a script may go on for long.
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
