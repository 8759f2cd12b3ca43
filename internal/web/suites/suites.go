// Package suites implements the test files of the console: it shows and changes
// them, runs them and keeps the results.
package suites

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/suite"
	"mcp-all-in-one/internal/web/api"
)

const maxRuns = 40

// A Source defines where test files are and how they reach their servers.
type Source struct {
	// Dir contains the test files; it need not exist.
	Dir string
	// Open connects a principal to the server that a file tests.
	Open func(ctx context.Context, who access.Principal, s *suite.Suite, answers *suite.TestAnswers) (*probe.Session, error)
}

// Options configure Suites.
type Options struct {
	Source
	// StateDir is the directory that keeps the runs across restarts; "" keeps
	// them in memory.
	StateDir string
	// Sees reports whether a principal sees a configured server.
	Sees func(who access.Principal, server string) bool
	// LooksInto reports whether a principal may read what owner did with a
	// configured server.
	LooksInto func(who access.Principal, owner, server string) bool
	// Undo stores a function that undoes a change, and returns its id.
	Undo func(run func(context.Context) error) string
	// Publish notifies the pages of a principal that a test file or a run of it
	// has changed.
	Publish func(principal, name string)
	Log     *slog.Logger
}

// Suites holds the test files and their runs, oldest first. It may be used
// concurrently.
type Suites struct {
	opt  Options
	ctx  context.Context
	wg   sync.WaitGroup
	file string // stores the runs; empty: they are not stored

	mu      sync.Mutex
	runs    map[string][]Run
	running map[runKey]*progress
}

// A Run is the result of running a test file once.
type Run struct {
	// Owner is the access.Principal.Owner that ran the file; empty for the owner of the
	// gateway.
	Owner string `json:"owner,omitempty"`
	// Target is the target of the file when it ran.
	Target  string             `json:"target,omitempty"`
	Start   time.Time          `json:"start"`
	Took    time.Duration      `json:"took"`
	Passed  int                `json:"passed"`
	Failed  int                `json:"failed"`
	Skipped int                `json:"skipped"`
	Error   string             `json:"error,omitempty"`
	ErrorZH string             `json:"errorZH,omitempty"`
	Results []suite.TestResult `json:"results,omitempty"`
}

// A runKey identifies a run in progress: a test file and the principal that
// runs it.
type runKey struct{ owner, name string }

func (r *Run) owner() string { return cmp.Or(r.Owner, access.Owner.ID) }

// progress is a run in progress.
type progress struct {
	by      string // the principal
	cancel  context.CancelFunc
	results []suite.TestResult
}

// Open reads the stored runs. Runs in progress end when ctx is done.
func Open(ctx context.Context, opt Options) (*Suites, error) {
	s := &Suites{opt: opt, ctx: ctx, runs: map[string][]Run{}, running: map[runKey]*progress{}}
	if opt.StateDir == "" {
		return s, nil
	}
	s.file = filepath.Join(opt.StateDir, "suites.json")
	data, err := os.ReadFile(s.file)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, i18n.Errorf("reading the runs of tests: %w", "读取测试记录失败：%w", err)
	}
	if json.Unmarshal(data, &s.runs) != nil {
		s.runs = map[string][]Run{} // the file was truncated by a crash
	}
	return s, nil
}

// maxName is in bytes. It is not part of the regular expression: a counted
// repetition makes the expression large, and it is compiled at every start.
const maxName = 100

var validName = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// path returns the file of a suite, which need not exist.
func (s *Suites) path(name string) (string, error) {
	if len(name) > maxName || !validName().MatchString(name) {
		return "", api.BadRequest(i18n.New("%q cannot be the name of a test file: letters, digits, _, - and . can", "%q 不能作为测试文件名：可用字母、数字、_、- 和 .", name))
	}
	for _, end := range []string{".yaml", ".yml"} {
		path := filepath.Join(s.opt.Dir, name+end)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return filepath.Join(s.opt.Dir, name+".yaml"), nil
}

func (s *Suites) names() []string {
	files, err := suite.FindSuites([]string{s.opt.Dir})
	if err != nil {
		return nil // the folder does not exist yet
	}
	var names []string
	for _, f := range files {
		base := filepath.Base(f)
		names = append(names, strings.TrimSuffix(base, filepath.Ext(base)))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// start runs a suite for a principal. Its progress is published as events.
func (s *Suites) start(who access.Principal, name string, tests *suite.Suite, update bool) error {
	key := runKey{who.Owner(), name}
	ctx, cancel := context.WithCancel(s.ctx)
	p := &progress{by: who.ID, cancel: cancel, results: []suite.TestResult{}}
	s.mu.Lock()
	if s.running[key] != nil {
		s.mu.Unlock()
		cancel()
		return i18n.Errorf("%s runs already", "%s 正在运行", name)
	}
	s.running[key] = p
	s.mu.Unlock()
	s.opt.Publish(who.ID, name)
	s.wg.Go(func() {
		defer cancel()
		s.finish(key, who.ID, s.run(ctx, who, name, tests, update, p))
	})
	return nil
}

// Close waits for the runs, which end when their context is done.
func (s *Suites) Close() { s.wg.Wait() }

// EndOf ends the runs of a principal.
func (s *Suites) EndOf(principal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.running {
		if p.by == principal {
			p.cancel()
		}
	}
}

func (s *Suites) run(ctx context.Context, who access.Principal, name string, tests *suite.Suite, update bool, p *progress) Run {
	run := Run{Owner: who.Owner(), Target: tests.Target, Start: time.Now()}
	began := time.Now()
	answers := &suite.TestAnswers{}
	session, err := s.opt.Open(ctx, who, tests, answers)
	if err == nil {
		runner := &suite.SuiteRunner{Session: session, Suite: tests, Answers: answers, Update: update, OnResult: func(r suite.TestResult) {
			s.mu.Lock()
			p.results = append(p.results, r)
			s.mu.Unlock()
			s.opt.Publish(who.ID, name)
		}}
		_, err = runner.Run(ctx)
		session.Close(ctx)
	}
	if err != nil {
		run.Error, run.ErrorZH = i18n.Why(err).Both()
	}
	run.Took = time.Since(began)
	s.mu.Lock()
	run.Results = slices.Clone(p.results)
	s.mu.Unlock()
	for _, r := range run.Results {
		switch r.Status {
		case "passed":
			run.Passed++
		case "failed":
			run.Failed++
		default:
			run.Skipped++
		}
	}
	return run
}

// finish stores a run. For older runs of the same principal it keeps only the
// counts.
func (s *Suites) finish(key runKey, by string, run Run) {
	s.mu.Lock()
	delete(s.running, key)
	list, own := slices.Clone(s.runs[key.name]), 0
	for i := range list {
		if list[i].owner() == key.owner {
			list[i].Results = nil
			own++
		}
	}
	if own >= maxRuns {
		oldest := slices.IndexFunc(list, func(r Run) bool { return r.owner() == key.owner })
		list = slices.Delete(list, oldest, oldest+1)
	}
	s.runs[key.name] = append(list, run)
	data, err := json.Marshal(s.runs)
	s.mu.Unlock()
	if err == nil && s.file != "" {
		err = disk.Write(s.file, data, 0o600)
	}
	if err != nil {
		s.opt.Log.Warn("keeping the runs of tests", "err", err)
	}
	s.opt.Publish(by, key.name)
}
