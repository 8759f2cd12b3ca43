package test

import (
	"fmt"
	"io"
	"sync"

	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/tester/eval"
	"mcp-all-in-one/internal/tester/suite"
)

// printEval prints the results of a file's evals: a table, and the reasons of
// failed runs.
func printEval(a *env.Env, r *eval.Result) {
	if a.JSON || len(r.Rows)+len(r.Skipped) == 0 {
		return
	}
	fmt.Fprintf(a.Stdout, a.T("# %s (%s), model %s\n", "# %s（%s），模型 %s\n"), i18n.Seen(r.Path), i18n.Seen(r.Target), i18n.Seen(r.Model))
	t := &env.Table{Aligned: true, Head: []string{"EVAL", a.T("MODE", "模式"), a.T("PASSED", "通过"), a.T("RATE", "通过率"), a.T("TURNS", "轮数"), a.T("TOKENS IN", "输入 TOKEN"), a.T("OUT", "输出"), a.T("TIME", "用时")}}
	add := func(name string, row *eval.Row) {
		rate := percent(row.Rate)
		if row.Missed {
			rate += a.T(", needs ", "，应达到 ") + percent(*row.MinRate)
		}
		t.Add(i18n.Seen(name), row.Mode, fmt.Sprintf("%d/%d", row.Passed, row.Of), rate, fmt.Sprintf("%.1f", row.Turns),
			output.Thousands(row.In), output.Thousands(row.Out), fmt.Sprintf("%.1f s", row.Took.Seconds()))
	}
	evals := 0
	for i, row := range r.Rows {
		name := row.Eval
		if i > 0 && r.Rows[i-1].Eval == name {
			name = ""
		} else {
			evals++
		}
		add(name, row)
	}
	if evals > 1 {
		for i, row := range r.Total {
			add([]string{a.T("(all)", "（全部）"), ""}[min(i, 1)], row)
		}
	}
	if len(r.Rows) > 0 {
		a.Print(t)
	}
	for _, row := range r.Rows {
		for _, why := range row.Why {
			fmt.Fprintf(a.Stdout, "%s, %s: %d × %s\n", i18n.Seen(row.Eval), row.Mode, why.Runs, i18n.Seen(why.In(a.Lang)))
		}
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(a.Stdout, "%s # SKIP %s\n", i18n.Seen(s.Eval), i18n.Seen(s.Why))
	}
}

func percent(rate float64) string { return fmt.Sprintf("%.0f %%", 100*rate) }

// reportEvals writes the machine-readable reports.
func reportEvals(a *env.Env, f *evalFlags, results []*eval.Result, missed int) error {
	body := map[string]any{"evals": results, "missed": missed}
	env.ShowJSON(a, body)
	if f.report != "" {
		if err := env.WriteReport(f.report, func(w io.Writer) error { return env.WriteLine(w, body) }); err != nil {
			return err
		}
	}
	if f.junit == "" {
		return nil
	}
	var tests []*suite.SuiteResult
	for _, r := range results {
		tests = append(tests, r.Tests())
	}
	return env.WriteReport(f.junit, func(w io.Writer) error { return suite.WriteJUnit(w, tests) })
}

// evalProgress shows the progress of the runs on one line of a terminal.
type evalProgress struct {
	env   *env.Env
	live  bool
	total int

	mu   sync.Mutex
	done int
}

func newEvalProgress(a *env.Env, f *evalFlags, s *suite.Suite) *evalProgress {
	p := &evalProgress{env: a, live: env.IsTerminal(a.Stderr)}
	runs := eval.Count{Usual: usualRuns, Force: f.runs}
	for i := range s.Evals {
		if s.Evals[i].Skip == "" {
			p.total += runs.Of(s.Evals[i].Runs) * len(f.modes)
		}
	}
	return p
}

func (p *evalProgress) show(r eval.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.live {
		fmt.Fprintf(p.env.Stderr, "\r\x1b[K%d/%d  %s, %s", p.done, p.total, i18n.Seen(r.Eval), r.Mode)
	}
}

func (p *evalProgress) clear() {
	if p.live {
		fmt.Fprint(p.env.Stderr, "\r\x1b[K")
	}
}
