// Package usage counts who called what, by the day, and keeps the figures in a
// folder for as long as the config file says.
//
// A call costs it one counter in memory. Arguments, results and addresses of
// resources are not kept, and names that clients invent are bounded: what is too
// much is counted together as Other. Several gateways may have one folder.
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
	List     = "list"     // a list of tools: what their definitions cost
)

// A Key is what calls are counted by. Server is empty for tools of our own.
type Key struct {
	Principal string       `json:"principal,omitempty"`
	Client    string       `json:"client,omitempty"`
	Door      traffic.Door `json:"door,omitempty"`
	Schema    string       `json:"schema,omitempty"`
	Server    string       `json:"server,omitempty"`
	Kind      string       `json:"kind,omitempty"`
	Name      string       `json:"name,omitempty"`
}

// A Sum is what is known about some calls.
type Sum struct {
	Calls, Errors, ToolErrors int64
	// Sent and Got are the bytes of requests and answers that a model saw: those
	// of a script's own calls are not among them.
	Sent, Got int64
	// Took counts the calls by how long they took, from the step First on.
	First int
	Took  []uint32
}

// took counts calls that took as long as a step says.
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

// Percentile is the time that a part of the calls took no longer than.
func (s *Sum) Percentile(part float64) time.Duration {
	var all [traffic.TookSteps]uint32
	copy(all[min(s.First, traffic.TookSteps):], s.Took)
	return traffic.Percentile(all[:], part)
}

// Tokens estimates what the calls cost a model: four bytes make one.
func (s *Sum) Tokens() int64 { return (s.Sent + s.Got + 3) / 4 }

// flushEvery is how often what was counted is written.
const flushEvery = 30 * time.Second

// Options say where figures are kept.
type Options struct {
	Dir string
	Log *slog.Logger
	// Now is the clock (time.Now).
	Now func() time.Time
}

// A Book counts calls. A nil Book counts nothing. Its methods may be called at
// the same time.
type Book struct {
	opt  Options
	stop chan struct{}
	done chan struct{}

	writing sync.Mutex // held while files are changed
	broken  bool       // the last write failed, which was said
	pruned  string     // the day on which old files were removed last

	on   atomic.Bool
	mu   sync.Mutex
	keep int             // days
	days map[string]*day // what is not written yet
	// day is the one of the last call, from its start to its end.
	day        *day
	start, end time.Time
}

// Open starts a book; Use says whether it counts.
func Open(opt Options) *Book {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	b := &Book{opt: opt, stop: make(chan struct{}), done: make(chan struct{}), days: make(map[string]*day)}
	go b.run()
	return b
}

// Use says whether calls are counted, and for how many days figures are kept,
// also those from before counting was switched off.
func (b *Book) Use(on bool, days int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keep = days
	b.on.Store(on)
}

// On says whether calls are counted.
func (b *Book) On() bool { return b != nil && b.on.Load() }

// Count counts one call that has ended. The texts of the key are kept.
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

// turn begins the day of a moment.
func (b *Book) turn(at time.Time) {
	name := nameOf(at)
	if b.days[name] == nil {
		b.days[name] = newDay()
	}
	year, month, date := at.Local().Date()
	b.day, b.start, b.end = b.days[name], time.Date(year, month, date, 0, 0, 0, 0, time.Local), time.Date(year, month, date+1, 0, 0, 0, 0, time.Local)
}

// nameOf is the day of a moment, where the gateway is.
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

// Close writes what was counted and ends the book.
func (b *Book) Close() {
	if b == nil {
		return
	}
	close(b.stop)
	<-b.done
}

// flush writes what was counted into the files of its days. What cannot be
// written is counted on.
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

// failed says once that the disk refuses.
func (b *Book) failed(err error) {
	if !b.broken {
		b.opt.Log.Warn("usage figures cannot be written; they are kept in memory", "path", b.opt.Dir, "err", err)
	}
	b.broken = true
}

// back puts figures back that were not written, those of the last days only.
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

// maxWaiting is how many days wait in memory for a disk that refuses.
const maxWaiting = 3
