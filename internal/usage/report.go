package usage

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// By says how the rows of a report are grouped.
type By string

// The ways to group.
const (
	ByTool   By = "tool" // also prompts, and the resources of a server
	ByServer By = "server"
	ByClient By = "client"
	ByKey    By = "key" // the principal
)

// Ways are the valid values of By.
var Ways = []By{ByTool, ByServer, ByClient, ByKey}

// maxDays is how far back a report reaches: as far as counts can be kept.
const maxDays = 366

var (
	errBy   = i18n.Errorf("usage is shown by tool, server, client or key", "用量可按 tool、server、client 或 key 汇总")
	errDays = i18n.Errorf("usage is shown for a number of days from 1 to %d", "用量可显示最近 1 到 %d 天", maxDays)
)

// A Query selects the content of a report.
type Query struct {
	// Days is the number of days, including today.
	Days int
	By   By
	// Server, Name, Client and Principal, if not nil, select the rows with that
	// value.
	Server, Name, Client, Principal *string
	// Sees reports whether the caller may see a row.
	Sees func(*Key) bool
}

// Check returns an error if Days or By is invalid.
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

// A Report is the usage over some days.
type Report struct {
	// On says that calls are counted.
	On bool `json:"on"`
	// Since is the first known day; empty if there is none.
	Since string `json:"since,omitempty"`
	By    By     `json:"by"`
	Days  []Day  `json:"days"`
	Total Figure `json:"total"`
	Rows  []Row  `json:"rows"`
	// Unreadable are the days whose counts are missing because they could not be
	// read.
	Unreadable []string `json:"unreadable,omitempty"`

	called map[[3]string]bool // schema, server and name of the tools that were called
}

// A Day is one day of a report.
type Day struct {
	Day string `json:"day"`
	Figure
}

// A Row is one group of a report. Only the grouped fields of the key are set.
type Row struct {
	Key
	Figure
	// Last is the day of the last call.
	Last string `json:"last"`
}

// A Figure is a Sum in the form that is shown.
type Figure struct {
	OK         int64         `json:"ok"`
	ToolErrors int64         `json:"tool"`
	Errors     int64         `json:"err"`
	P50        time.Duration `json:"p50"`
	P95        time.Duration `json:"p95"`
	// Tokens estimates how many tokens went through a model's context.
	// Definitions is the part of them that lists of tools used.
	Tokens      int64 `json:"tokens"`
	Definitions int64 `json:"definitions"`
}

// Calls returns the number of all calls.
func (f *Figure) Calls() int64 { return f.OK + f.ToolErrors + f.Errors }

// figures sums up calls and, separately, lists of tools.
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

// Report writes the current counts and sums up the files in the folder.
func (b *Book) Report(q Query) Report {
	if b == nil {
		return Read(os.DevNull, time.Now(), q)
	}
	b.flush()
	r := Read(b.opt.Dir, b.opt.Now(), q)
	r.On = b.On()
	return r
}

// Read sums up the files in a folder. A day that cannot be read is left out and
// listed in Unreadable.
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
				r.Unreadable = append(r.Unreadable, name) // the next write renames it
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
				continue // it belongs to no tool, or to all servers
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
	sort.Slice(r.Rows, func(i, j int) bool {
		a, b := &r.Rows[i], &r.Rows[j]
		return cmp.Or(cmp.Compare(b.Calls(), a.Calls()), cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Client+a.Principal, b.Client+b.Principal)) < 0
	})
	return r
}

// group returns the part of a key by which rows are grouped.
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

// Unused reports whether a tool was not called in the days of the report. It is
// false for a tool whose calls are counted as Other, because that is unknown.
func (r *Report) Unused(schema, server, name string) bool {
	k := Key{Schema: schema, Server: server, Name: name}
	return bounded(k) == k && !r.called[[3]string{schema, server, name}]
}
