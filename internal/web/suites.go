package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/tester/suite"
)

const maxSuiteRuns = 40

// suites are the test files and how they went, oldest run first.
type suites struct {
	h    *Handler
	opt  SuiteOptions
	file string // keeps the runs; empty for nowhere

	mu      sync.Mutex
	runs    map[string][]SuiteRun
	running map[suiteKey]*suiteProgress
}

// A suiteKey is a test file that a principal runs.
type suiteKey struct{ owner, name string }

func (r *SuiteRun) owner() string { return cmp.Or(r.Owner, access.Owner.ID) }

// suiteProgress is a run that has not ended.
type suiteProgress struct {
	cancel  context.CancelFunc
	results []suite.TestResult
}

func openSuites(h *Handler, opt SuiteOptions) (*suites, error) {
	s := &suites{h: h, opt: opt, runs: map[string][]SuiteRun{}, running: map[suiteKey]*suiteProgress{}}
	if h.opt.StateDir == "" {
		return s, nil
	}
	s.file = filepath.Join(h.opt.StateDir, "suites.json")
	data, err := os.ReadFile(s.file)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, i18n.Errorf("reading the runs of tests: %w", "读取测试记录失败：%w", err)
	}
	if json.Unmarshal(data, &s.runs) != nil {
		s.runs = map[string][]SuiteRun{} // a file that was cut by a crash
	}
	return s, nil
}

// maxSuiteName is in bytes. It is no part of the expression: one that counts is
// large, and made at every start.
const maxSuiteName = 100

var suiteName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// path is the file of a suite, whether or not it is there.
func (s *suites) path(name string) (string, error) {
	if len(name) > maxSuiteName || !suiteName.MatchString(name) {
		return "", i18n.Errorf("%q cannot be the name of a test file: letters, digits, _, - and . can", "%q 不能作为测试文件名：可用字母、数字、_、- 和 .", name)
	}
	for _, end := range []string{".yaml", ".yml"} {
		path := filepath.Join(s.opt.Dir, name+end)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return filepath.Join(s.opt.Dir, name+".yaml"), nil
}

func (s *suites) names() []string {
	files, err := suite.FindSuites([]string{s.opt.Dir})
	if err != nil {
		return nil // there is no such folder yet
	}
	var names []string
	for _, f := range files {
		base := filepath.Base(f)
		names = append(names, strings.TrimSuffix(base, filepath.Ext(base)))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// start runs a suite for a principal; what happens is told as events.
func (s *suites) start(who access.Principal, name string, tests *suite.Suite, update bool) error {
	key := suiteKey{who.ID, name}
	ctx, cancel := context.WithCancel(s.h.ctx)
	p := &suiteProgress{cancel: cancel, results: []suite.TestResult{}}
	s.mu.Lock()
	if s.running[key] != nil {
		s.mu.Unlock()
		cancel()
		return i18n.Errorf("%s runs already", "%s 正在运行", name)
	}
	s.running[key] = p
	s.mu.Unlock()
	s.tell(who.ID, name)
	s.h.wg.Go(func() {
		defer cancel()
		s.finish(key, s.run(ctx, who, name, tests, update, p))
	})
	return nil
}

// endOf ends the runs of a principal.
func (s *suites) endOf(principal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, p := range s.running {
		if key.owner == principal {
			p.cancel()
		}
	}
}

func (s *suites) run(ctx context.Context, who access.Principal, name string, tests *suite.Suite, update bool, p *suiteProgress) SuiteRun {
	run := SuiteRun{Owner: who.ID, Start: s.h.opt.Now()}
	began := time.Now()
	answers := &suite.TestAnswers{}
	session, end, err := s.opt.Open(ctx, who, tests, answers)
	if err == nil {
		runner := &suite.SuiteRunner{Session: session, Suite: tests, Answers: answers, Update: update, OnResult: func(r suite.TestResult) {
			s.mu.Lock()
			p.results = append(p.results, r)
			s.mu.Unlock()
			s.tell(who.ID, name)
		}}
		_, err = runner.Run(ctx)
		end()
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

// finish keeps a run; of older ones of its principal only the counts are kept.
func (s *suites) finish(key suiteKey, run SuiteRun) {
	s.mu.Lock()
	delete(s.running, key)
	list, own := slices.Clone(s.runs[key.name]), 0
	for i := range list {
		if list[i].owner() == key.owner {
			list[i].Results = nil
			own++
		}
	}
	if own >= maxSuiteRuns {
		oldest := slices.IndexFunc(list, func(r SuiteRun) bool { return r.owner() == key.owner })
		list = slices.Delete(list, oldest, oldest+1)
	}
	s.runs[key.name] = append(list, run)
	data, err := json.Marshal(s.runs)
	s.mu.Unlock()
	if err == nil && s.file != "" {
		err = writeFile(s.file, data)
	}
	if err != nil {
		s.h.opt.Log.Warn("keeping the runs of tests", "err", err)
	}
	s.tell(key.owner, key.name)
}

// tell says that a test file, or a run of it, has changed.
func (s *suites) tell(owner, name string) {
	s.h.hub.publish("tests", owner, map[string]string{"suite": name})
}

// writeFile replaces a file, readable by its owner only.
func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return disk.Replace(disk.OS{}, name, data, 0o600)
}
