package usage

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// By is what the rows of a report are summed up by.
type By string

// The ways to sum up.
const (
	ByTool   By = "tool" // and prompts, and the resources of a server
	ByServer By = "server"
	ByClient By = "client"
	ByKey    By = "key" // the principal
)

// Ways are the values of By.
var Ways = []By{ByTool, ByServer, ByClient, ByKey}

// maxDays is how far back a report goes: as far as figures can be kept.
const maxDays = 366

var (
	errBy   = i18n.Errorf("usage is shown by tool, server, client or key", "用量可按 tool、server、client 或 key 汇总")
	errDays = i18n.Errorf("usage is shown for a number of days from 1 to %d", "用量可显示最近 1 到 %d 天", maxDays)
)

// A Query says what a report is about.
type Query struct {
	// Days is how many, today included.
	Days int
	By   By
	// Server, Name, Client and Principal, where set, leave out what has others.
	Server, Name, Client, Principal *string
	// Sees says what is shown at all.
	Sees func(*Key) bool
}

// Check says what is wrong with what a person asked for.
func (q *Query) Check() error {
	switch {
	case q.Days < 1 || q.Days > maxDays:
		return errDays
	case !slices.Contains(Ways, q.By):
		return errBy
	}
	return nil
}

func (q *Query) wants(k *Key) bool {
	is := func(want *string, text string) bool { return want == nil || *want == text }
	return is(q.Server, k.Server) && is(q.Name, k.Name) && is(q.Client, k.Client) && is(q.Principal, k.Principal)
}

// A Report is the usage of some days.
type Report struct {
	// On says that calls are counted.
	On bool `json:"on"`
	// Since is the first day that is known; empty when none is.
	Since string `json:"since,omitempty"`
	By    By     `json:"by"`
	Days  []Day  `json:"days"`
	Total Figure `json:"total"`
	Rows  []Row  `json:"rows"`
	// Unreadable are the days whose figures could not be read, and are missing.
	Unreadable []string `json:"unreadable,omitempty"`

	called map[[3]string]bool // schema, server and name of the tools
}

// A Day is one day of a report.
type Day struct {
	Day string `json:"day"`
	Figure
}

// A Row is a part of a report. Of the key only what it was summed up by is set.
type Row struct {
	Key
	Figure
	// Last is the last day on which there was a call.
	Last string `json:"last"`
}

// A Figure is a Sum as it is shown.
type Figure struct {
	OK         int64         `json:"ok"`
	ToolErrors int64         `json:"tool"`
	Errors     int64         `json:"err"`
	P50        time.Duration `json:"p50"`
	P95        time.Duration `json:"p95"`
	// Tokens estimates what went through a model's context; Definitions is the
	// part of it that lists of tools are.
	Tokens      int64 `json:"tokens"`
	Definitions int64 `json:"definitions"`
}

// Calls are all calls.
func (f *Figure) Calls() int64 { return f.OK + f.ToolErrors + f.Errors }

// figures sums up calls, and lists of tools apart.
type figures struct{ calls, lists Sum }

func (f *figures) add(k *Key, s *Sum) {
	if k.Kind == List {
		f.lists.add(s)
		return
	}
	f.calls.add(s)
}

func (f *figures) figure() Figure {
	c := &f.calls
	return Figure{OK: c.Calls - c.Errors - c.ToolErrors, ToolErrors: c.ToolErrors, Errors: c.Errors, P50: c.Percentile(.5), P95: c.Percentile(.95),
		Tokens: c.Tokens() + f.lists.Tokens(), Definitions: f.lists.Tokens()}
}

// Report writes what was counted and sums up what the folder has.
func (b *Book) Report(q Query) Report {
	if b == nil {
		return Read(os.DevNull, time.Now(), q)
	}
	b.flush()
	r := Read(b.opt.Dir, b.opt.Now(), q)
	r.On = b.On()
	return r
}

// Read sums up what a folder has. A day that cannot be read is left out, and
// named.
func Read(dir string, now time.Time, q Query) Report {
	r := Report{By: q.By, Days: []Day{}, Rows: []Row{}, called: make(map[[3]string]bool)}
	all, rows, latest := &figures{}, map[Key]*figures{}, map[Key]string{}
	known := names(dir)
	if len(known) > 0 {
		r.Since = known[0]
	}
	for ago := q.Days - 1; ago >= 0; ago-- {
		name := shift(nameOf(now), -ago)
		var lines []line
		if slices.Contains(known, name) {
			var err error
			if lines, err = read(filepath.Join(dir, name+ext)); err != nil {
				r.Unreadable = append(r.Unreadable, name) // the next write sets it aside
			}
		}
		one := &figures{}
		for i := range lines {
			k, s := &lines[i].Key, &lines[i].Sum
			if !q.Sees(k) {
				continue
			}
			if k.Kind == Tool {
				r.called[[3]string{k.Schema, k.Server, k.Name}] = true
			}
			if !q.wants(k) {
				continue
			}
			all.add(k, s)
			one.add(k, s)
			if k.Kind == List && (q.By == ByTool || q.By == ByServer && k.Server == "") {
				continue // of no tool, and of all servers
			}
			group := q.By.group(k)
			if rows[group] == nil {
				rows[group] = &figures{}
			}
			rows[group].add(k, s)
			latest[group] = name
		}
		r.Days = append(r.Days, Day{name, one.figure()})
	}
	r.Total = all.figure()
	for k, f := range rows {
		r.Rows = append(r.Rows, Row{k, f.figure(), latest[k]})
	}
	slices.SortFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Calls(), a.Calls()), cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Client+a.Principal, b.Client+b.Principal))
	})
	return r
}

// group is the part of a key that rows are summed up by.
func (by By) group(k *Key) Key {
	switch by {
	case ByServer:
		return Key{Server: k.Server}
	case ByClient:
		return Key{Client: k.Client}
	case ByKey:
		return Key{Principal: k.Principal}
	}
	return Key{Server: k.Server, Kind: k.Kind, Name: k.Name}
}

// Unused says that nobody called a tool in the days of the report. Of one whose
// calls are counted as Other this is not known.
func (r *Report) Unused(schema, server, name string) bool {
	k := Key{Schema: schema, Server: server, Name: name}
	return bounded(k) == k && !r.called[[3]string{schema, server, name}]
}
