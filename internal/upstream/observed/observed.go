// Package observed collects what a server did that its user may want to know.
package observed

import (
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/stdio"
)

// A Report holds the observations so far.
type Report struct {
	Stderr      []string         // the last lines that its processes wrote to their standard error
	StderrLines int              // how many lines they have written in all
	Dropped     map[string]int64 // messages by the reason for which they were dropped
	Withheld    []string         // environment variables that were not passed on
	Noise       string           // the first line on its standard output that was not a message
	Issues      []catalog.Issue
}

// A Record collects the observations of one server.
type Record struct {
	Server string
	Log    *slog.Logger
	OnLine func(server, line string) // gets each line on standard error; may be nil

	mu     sync.Mutex
	report Report // without Issues
	issues map[string][]catalog.Issue
}

// Report returns what was observed so far.
func (o *Record) Report() Report {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.report
	r.Dropped, r.Stderr = maps.Clone(r.Dropped), slices.Clone(r.Stderr)
	for _, list := range o.issues {
		r.Issues = append(r.Issues, list...)
	}
	return r
}

// Count counts a message that was dropped for a reason.
func (o *Record) Count(reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.countLocked(reason)
}

func (o *Record) countLocked(reason string) (first bool) {
	if o.report.Dropped == nil {
		o.report.Dropped = make(map[string]int64)
	}
	o.report.Dropped[reason]++
	return o.report.Dropped[reason] == 1
}

// Drop counts input from the server that is not a valid message. It logs the first of
// each kind.
func (o *Record) Drop(reason string, head []byte) {
	o.mu.Lock()
	first := o.countLocked(reason)
	if line := strings.TrimSpace(string(head)); o.report.Noise == "" && line != "" && line[0] != '{' && line[0] != '[' {
		o.report.Noise = line
	}
	o.mu.Unlock()
	if first {
		o.Log.Warn("ignoring an invalid message of the server", "reason", reason, "head", strconv.Quote(string(head[:min(len(head), 256)])))
	}
}

// Hear records what a process writes to its standard error.
func (o *Record) Hear(process *stdio.Tail) {
	process.Hear(func(line string) {
		o.mu.Lock()
		o.report.StderrLines++
		o.report.Stderr = append(o.report.Stderr[max(0, len(o.report.Stderr)-keptLines+1):], line)
		o.mu.Unlock()
		if o.OnLine != nil {
			o.OnLine(o.Server, line)
		}
	})
}

// keptLines is how many lines of a server's stderr a report has.
const keptLines = 50

// Withhold records the environment variables that were not passed on.
func (o *Record) Withhold(names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.report.Withheld = names
}

// SetIssues records the problems in the list that a method returns.
func (o *Record) SetIssues(method string, issues []catalog.Issue) {
	o.mu.Lock()
	if o.issues == nil {
		o.issues = make(map[string][]catalog.Issue)
	}
	o.issues[method] = issues
	o.mu.Unlock()
	for i, issue := range issues {
		if i == 5 {
			o.Log.Warn("more items have problems", "method", method, "count", len(issues)-i)
			break
		}
		o.Log.Warn("item has a problem", "method", method, "issue", issue)
	}
}
