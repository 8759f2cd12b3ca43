package eval

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/tester/suite"
)

// A Result is the result of the evals of one file.
type Result struct {
	Path   string   `json:"path"`
	Target string   `json:"target,omitempty"`
	Model  string   `json:"model"`
	Modes  []string `json:"modes"`
	Rows   []*Row   `json:"rows"`
	// Total sums the rows of all evals, one row per mode.
	Total   []*Row    `json:"total"`
	Skipped []Skipped `json:"skipped,omitempty"`
}

// Skipped is an eval that was not run.
type Skipped struct {
	Eval string `json:"eval"`
	Why  string `json:"why"`
}

// A Row is one eval in one mode: how many runs passed, and the averages of a
// run.
type Row struct {
	Eval   string  `json:"eval,omitempty"`
	Mode   string  `json:"mode"`
	Passed int     `json:"passed"`
	Of     int     `json:"of"`
	Rate   float64 `json:"rate"`
	// MinRate is the required pass rate; nil for none.
	MinRate *float64 `json:"minRate,omitempty"`
	Missed  bool     `json:"missed,omitempty"`
	Turns   float64  `json:"turns"`
	In      int      `json:"tokensIn"`
	Out     int      `json:"tokensOut"`
	// Took is the median time of a run.
	Took time.Duration `json:"took"`
	// Why lists the reasons of failed runs, most frequent first.
	Why  []Reason `json:"why,omitempty"`
	Runs []Run    `json:"runs,omitempty"`

	runs []*Run // an element is nil if the run was not made
}

// A Reason is why runs did not pass.
type Reason struct {
	Text   string `json:"text"`
	TextZH string `json:"textZH"`
	Runs   int    `json:"runs"`
}

// In returns the reason in the given language.
func (r *Reason) In(l i18n.Lang) string { return i18n.Pair(r.Text, r.TextZH).In(l) }

// sum computes the rows from the completed runs.
func (r *Result) sum() {
	for _, mode := range r.Modes {
		total := &Row{Mode: mode}
		for _, row := range r.Rows {
			if row.Mode == mode {
				row.sum()
				total.runs = append(total.runs, row.runs...)
			}
		}
		total.sum()
		total.Why, total.Runs = nil, nil
		if total.Of > 0 {
			r.Total = append(r.Total, total)
		}
	}
	r.Rows = slices.DeleteFunc(r.Rows, func(row *Row) bool { return row.Of == 0 })
}

func (r *Row) sum() {
	turns, in, out := 0, 0, 0
	var took []time.Duration
	for _, run := range r.runs {
		if run == nil {
			continue
		}
		r.Of++
		turns, in, out = turns+run.Turns, in+run.In, out+run.Out
		took = append(took, run.Took)
		r.Runs = append(r.Runs, *run)
		if run.Passed {
			r.Passed++
			continue
		}
		if at := slices.IndexFunc(r.Why, func(w Reason) bool { return w.Text == run.Reason }); at >= 0 {
			r.Why[at].Runs++
		} else {
			r.Why = append(r.Why, Reason{run.Reason, run.ReasonZH, 1})
		}
	}
	if r.Of == 0 {
		return
	}
	sort.SliceStable(r.Why, func(i, j int) bool { return r.Why[i].Runs > r.Why[j].Runs })
	slices.Sort(took)
	r.Rate, r.Turns = float64(r.Passed)/float64(r.Of), float64(turns)/float64(r.Of)
	r.In, r.Out, r.Took = in/r.Of, out/r.Of, took[len(took)/2]
}

// Hold compares the rows with the required pass rate: their own, or least,
// which may be nil. It returns how many rows missed it.
func (r *Result) Hold(least *float64) int {
	missed := 0
	for _, row := range r.Rows {
		if row.MinRate == nil {
			row.MinRate = least
		}
		if row.MinRate != nil && row.Rate < *row.MinRate {
			row.Missed = true
			missed++
		}
	}
	return missed
}

// Tests returns the rows as test results for report formats: a row fails if too
// few runs passed.
func (r *Result) Tests() *suite.SuiteResult {
	out := &suite.SuiteResult{Path: r.Path, Target: r.Target}
	for _, row := range r.Rows {
		t := suite.TestResult{Name: fmt.Sprintf("%s (%s)", row.Eval, row.Mode), Status: "passed", Took: row.Took}
		if row.Missed {
			problems := []i18n.Text{i18n.New("%d of %d runs passed, %g %% are needed", "%d/%d 次运行通过，应达到 %g %%", row.Passed, row.Of, *row.MinRate*100)}
			for _, w := range row.Why {
				problems = append(problems, i18n.Pair(fmt.Sprintf("%d × %s", w.Runs, w.Text), fmt.Sprintf("%d × %s", w.Runs, w.TextZH)))
			}
			t.Status = "failed"
			t.Problems, t.ProblemsZH = i18n.Both(problems)
		}
		out.Results = append(out.Results, t)
	}
	for _, s := range r.Skipped {
		out.Results = append(out.Results, suite.TestResult{Name: s.Eval, Status: "skipped", Problems: []string{s.Why}})
	}
	return out
}
