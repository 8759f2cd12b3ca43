package upstream

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/stdio"
)

// observed collects what a server did wrong, for the status.
type observed struct {
	*entry
	mu       sync.Mutex
	counts   map[string]int64 // dropped messages by reason
	withheld []string
	noise    string   // the first line on its standard output that was not a message
	stderr   []string // the last lines that its processes wrote to their standard error
	written  int      // how many lines they have written in all
	issues   map[string][]catalog.Issue
}

func (o *observed) describe(s *Status) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s.Dropped, s.Withheld, s.Noise = maps.Clone(o.counts), o.withheld, o.noise
	s.StderrLines, s.Stderr = o.written, slices.Clone(o.stderr)
	for _, list := range o.issues {
		s.Issues = append(s.Issues, list...)
	}
}

func (o *observed) count(what string) {
	o.mu.Lock()
	o.counts[what]++
	o.mu.Unlock()
}

// dropped counts input from the server that is not a valid message. It logs the first of
// each kind.
func (o *observed) dropped(reason string, head []byte) {
	o.mu.Lock()
	o.counts[reason]++
	first := o.counts[reason] == 1
	if line := strings.TrimSpace(string(head)); o.noise == "" && line != "" && line[0] != '{' && line[0] != '[' {
		o.noise = line
	}
	o.mu.Unlock()
	if first {
		o.log.Warn("ignoring an invalid message of the server", "reason", reason, "head", strconv.Quote(string(head[:min(len(head), 256)])))
	}
}

// hear records what a process writes to its standard error.
func (o *observed) hear(process *stdio.Tail) {
	process.Hear(func(line string) {
		o.mu.Lock()
		o.written++
		o.stderr = append(o.stderr[max(0, len(o.stderr)-keptLines+1):], line)
		o.mu.Unlock()
		if o.opt.OnLine != nil {
			o.opt.OnLine(o.name, line)
		}
	})
}

// keptLines is how many lines of a server's stderr the status has.
const keptLines = 50

func (o *observed) noteWithheld(names []string) {
	o.mu.Lock()
	o.withheld = names
	o.mu.Unlock()
}

func (o *observed) reportIssues(method string, issues []catalog.Issue) {
	o.mu.Lock()
	if o.issues == nil {
		o.issues = make(map[string][]catalog.Issue)
	}
	o.issues[method] = issues
	o.mu.Unlock()
	for i, issue := range issues {
		if i == 5 {
			o.log.Warn("more items have problems", "method", method, "count", len(issues)-i)
			break
		}
		o.log.Warn("item has a problem", "method", method, "issue", issue)
	}
}
