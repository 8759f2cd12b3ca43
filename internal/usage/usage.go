// Package usage counts who called what, per day, and keeps the counts in a folder
// for as long as the configuration says.
//
// A call costs one counter in memory. Arguments, results and URIs of resources
// are not stored. Names that clients choose are limited: the excess is counted
// together as Other. Several gateways may share one folder.
package usage

import (
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/traffic"
)

// The kinds of rows.
const (
	Tool     = "tool"
	Prompt   = "prompt"
	Resource = "resource" // all resources of a server
	List     = "list"     // a list of tools, to count the cost of their definitions
)

// A Key identifies a counter of calls. Server is empty for the gateway's own
// tools.
type Key struct {
	Principal string       `json:"principal,omitempty"`
	Client    string       `json:"client,omitempty"`
	Door      traffic.Door `json:"door,omitempty"`
	Schema    string       `json:"schema,omitempty"`
	Server    string       `json:"server,omitempty"`
	Kind      string       `json:"kind,omitempty"`
	Name      string       `json:"name,omitempty"`
}

// A Sum holds the counts of some calls.
type Sum struct {
	Calls, Errors, ToolErrors int64
	// Sent and Got are the bytes of requests and answers that a model saw. The
	// calls of a script are not included.
	Sent, Got int64
	// Took counts the calls by traffic.TookStep, beginning with step First.
	First int
	Took  []uint32
}

// took counts calls with a duration of the given step.
func (s *Sum) took(step int, calls uint32) {
	switch {
	case len(s.Took) == 0:
		s.First, s.Took = step, []uint32{0}
	case step < s.First:
		s.Took = append(make([]uint32, s.First-step), s.Took...)
		s.First = step
	}
	if more := step - s.First + 1 - len(s.Took); more > 0 {
		s.Took = append(s.Took, make([]uint32, more)...)
	}
	s.Took[step-s.First] += calls
}

func (s *Sum) add(o *Sum) {
	s.Calls += o.Calls
	s.Errors += o.Errors
	s.ToolErrors += o.ToolErrors
	s.Sent += o.Sent
	s.Got += o.Got
	for i, n := range o.Took {
		if n > 0 {
			s.took(min(max(o.First+i, 0), traffic.TookSteps-1), n)
		}
	}
}

// Percentile returns the duration within which the given part of the calls ended.
func (s *Sum) Percentile(part float64) time.Duration {
	var all [traffic.TookSteps]uint32
	copy(all[min(s.First, traffic.TookSteps):], s.Took)
	return traffic.Percentile(all[:], part)
}

// Tokens estimates the tokens of the calls: four bytes per token.
func (s *Sum) Tokens() int64 { return (s.Sent + s.Got + 3) / 4 }

// flushEvery is how often counts are written.
const flushEvery = 30 * time.Second

// Options configures a Book.
type Options struct {
	Dir string
	Log *slog.Logger
	// Now is the clock (time.Now).
	Now func() time.Time
}

// A Book counts calls. A nil Book counts nothing. Its methods may be called
// concurrently.
type Book struct {
	opt  Options
	stop chan struct{}
	done chan struct{}

	writing sync.Mutex // held while files are changed
	broken  bool       // the last write failed and was logged
	pruned  string     // the day of the last prune

	on   atomic.Bool
	mu   sync.Mutex
	keep int             // days
	days map[string]*day // not written yet
	// day is the day of the last call; it lasts from start to end.
	day        *day
	start, end time.Time
}

// Open starts a Book. It counts nothing before Use.
func Open(opt Options) *Book {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	b := &Book{opt: opt, stop: make(chan struct{}), done: make(chan struct{}), days: make(map[string]*day)}
	go b.run()
	return b
}

// Use sets whether calls are counted, and for how many days counts are kept.
// Counts from before counting was switched off are kept as long.
func (b *Book) Use(on bool, days int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keep = days
	b.on.Store(on)
}

// On reports whether calls are counted.
func (b *Book) On() bool { return b != nil && b.on.Load() }

// Count counts one call that has ended. It retains the strings of the key.
func (b *Book) Count(k Key, status string, ended time.Time, took time.Duration, sent, got int64) {
	if !b.On() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.day == nil || !ended.Before(b.end) || ended.Before(b.start) {
		b.turn(ended)
	}
	s := b.day.at(k)
	s.Calls++
	switch status {
	case traffic.StatusError:
		s.Errors++
	case traffic.StatusToolError:
		s.ToolErrors++
	}
	s.Sent += sent
	s.Got += got
	s.took(traffic.TookStep(took), 1)
}

// turn switches to the day of the given time.
func (b *Book) turn(at time.Time) {
	name := nameOf(at)
	if b.days[name] == nil {
		b.days[name] = newDay()
	}
	year, month, date := at.Local().Date()
	b.day, b.start, b.end = b.days[name], time.Date(year, month, date, 0, 0, 0, 0, time.Local), time.Date(year, month, date+1, 0, 0, 0, 0, time.Local)
}

// nameOf returns the local date of the given time.
func nameOf(at time.Time) string { return at.Local().Format(time.DateOnly) }

func (b *Book) run() {
	defer close(b.done)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.flush()
		case <-b.stop:
			b.flush()
			return
		}
	}
}

// Close writes the counts and ends the book.
func (b *Book) Close() {
	if b == nil {
		return
	}
	close(b.stop)
	<-b.done
}

// flush writes the counts to the files of their days. Counts that cannot be
// written stay in memory.
func (b *Book) flush() {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	days, keep := b.days, b.keep
	b.days, b.day = make(map[string]*day), nil
	b.mu.Unlock()
	for name, counted := range days {
		if err := b.write(name, counted); err != nil {
			b.failed(err)
			b.back(name, counted)
			continue
		}
		b.broken = false
	}
	if today := nameOf(b.opt.Now()); keep > 0 && b.pruned != today {
		b.prune(today, keep)
	}
}

// failed logs a failed write, once.
func (b *Book) failed(err error) {
	if !b.broken {
		b.opt.Log.Warn("usage figures cannot be written; they are kept in memory", "path", b.opt.Dir, "err", err)
	}
	b.broken = true
}

// back puts counts back that could not be written, of at most maxWaiting days.
func (b *Book) back(name string, counted *day) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := b.days[name]; now != nil {
		counted.merge(maps.All(now.rows))
	}
	if len(b.days) >= maxWaiting && b.days[name] == nil {
		return
	}
	b.days[name], b.day = counted, nil
}

// maxWaiting is how many days are kept in memory while the disk fails.
const maxWaiting = 3
