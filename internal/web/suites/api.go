package suites

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"slices"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/tester/suite"
	"mcp-all-in-one/internal/web/api"
)

// suiteBody describes one test file.
type suiteBody struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Target describes what the file tests.
	Target string `json:"target,omitempty"`
	Tests  int    `json:"tests"`
	// Evals is the number of tasks for a model. Only the command line runs
	// them.
	Evals int `json:"evals,omitempty"`
	// Error says why the file cannot be used.
	Error   string `json:"error,omitempty"`
	ErrorZH string `json:"errorZH,omitempty"`
	// Running holds the results so far of a run in progress.
	Running []suite.TestResult `json:"running,omitempty"`
	IsRun   bool               `json:"isRunning,omitempty"`
	// Runs are oldest first; only the last run has results.
	Runs []Run `json:"runs"`
	// Text is the content of the file. It is set only for a single suite.
	Text string `json:"text,omitempty"`
}

type suitesBody struct {
	Dir    string      `json:"dir"`
	Suites []suiteBody `json:"suites"`
}

// Routes returns the routes that show, change and run test files.
func (s *Suites) Routes() []api.Route {
	route := api.NewRoute
	return []api.Route{
		route("GET", "suites", api.ScopeRead, s.getAll),
		route("GET", "suites/{suite}", api.ScopeRead, s.get),
		route("PUT", "suites/{suite}", api.ScopeAdmin, s.put),
		route("DELETE", "suites/{suite}", api.ScopeAdmin, s.delete),
		route("POST", "suites/{suite}/run", api.ScopeCall, s.postRun),
		route("DELETE", "suites/{suite}/run", api.ScopeCall, s.deleteRun),
	}
}

// describe returns a test file with the runs that the principal may look at;
// false if the principal does not see the file.
func (s *Suites) describe(who access.Principal, name, path string) (suiteBody, bool) {
	b := suiteBody{Name: name, Path: path, Runs: []Run{}}
	suite, err := suite.ReadSuite(path)
	if !s.sees(who, suite) {
		return suiteBody{}, false
	}
	if err != nil {
		b.Error, b.ErrorZH = i18n.Why(err).Both()
	} else {
		b.Target, b.Tests, b.Evals = targetOfSuite(suite), len(suite.Tests), len(suite.Evals)
	}
	if !who.MayInspect() {
		b.Path = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range s.runs[name] {
		if s.opt.LooksInto(who, run.owner(), run.Target) {
			b.Runs = append(b.Runs, run)
		}
	}
	if p := s.running[runKey{who.Owner(), name}]; p != nil {
		b.IsRun, b.Running = true, slices.Clone(p.results)
	}
	return b, true
}

func targetOfSuite(s *suite.Suite) string {
	switch {
	case s.Target != "":
		return s.Target
	case s.URL != "":
		return s.URL
	case len(s.Argv()) > 0:
		return i18n.Command(s.Argv()...)
	}
	return ""
}

func (s *Suites) getAll(r *api.Request) (any, error) {
	body := suitesBody{Suites: []suiteBody{}}
	if r.Who.MayInspect() {
		body.Dir = s.opt.Dir
	}
	for _, name := range s.names() {
		path, err := s.path(name)
		if err != nil {
			continue
		}
		if b, ok := s.describe(r.Who, name, path); ok {
			body.Suites = append(body.Suites, b)
		}
	}
	return body, nil
}

func (s *Suites) get(r *api.Request) (any, error) {
	path, err := s.path(r.Param("suite"))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	body, ok := s.describe(r.Who, r.Param("suite"), path)
	if err != nil || !ok {
		return nil, noSuite(r)
	}
	body.Text = string(text)
	return body, nil
}

// put writes a test file. It refuses a file that cannot be parsed.
func (s *Suites) put(r *api.Request) (any, error) {
	var body struct {
		Text string `json:"text"`
	}
	path, err := s.path(r.Param("suite"))
	if err = cmp.Or(err, r.Decode(&body)); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err == nil && !s.seesFile(r.Who, path) {
		return nil, noSuite(r)
	}
	tests, err := suite.ParseSuite(path, []byte(body.Text))
	if err != nil {
		return nil, err
	}
	if !s.sees(r.Who, tests) {
		return nil, errBeyond
	}
	err = os.MkdirAll(s.opt.Dir, 0o755)
	if err == nil {
		err = disk.Write(path, []byte(body.Text), 0o600)
	}
	if err != nil {
		return nil, err
	}
	s.opt.Publish("", r.Param("suite"))
	described, _ := s.describe(r.Who, r.Param("suite"), path)
	return described, nil
}

func (s *Suites) delete(r *api.Request) (any, error) {
	path, err := s.path(r.Param("suite"))
	if err != nil {
		return nil, err
	}
	was, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || !s.seesFile(r.Who, path) {
		err = api.ErrNotFound
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		return nil, err
	}
	name := r.Param("suite")
	s.opt.Publish("", name)
	return map[string]string{"undo": s.opt.Undo(func(context.Context) error {
		defer s.opt.Publish("", name)
		return disk.Write(path, was, 0o600)
	})}, nil
}

type runBody struct {
	// Update overwrites the snapshots.
	Update bool `json:"update"`
	// Confirm is the command line that the page showed to the user.
	Confirm string `json:"confirm"`
}

func (s *Suites) postRun(r *api.Request) (any, error) {
	var body runBody
	path, err := s.path(r.Param("suite"))
	if err = cmp.Or(err, r.Decode(&body)); err != nil {
		return nil, err
	}
	suite, err := suite.ReadSuite(path)
	if err != nil && s.sees(r.Who, nil) {
		return nil, err
	}
	if err := s.mayRun(r, suite, body.Update); err != nil {
		return nil, err
	}
	if argv := suite.Argv(); len(argv) > 0 {
		if err := api.Confirm(argv[0], argv[1:], body.Confirm); err != nil {
			return nil, err
		}
	}
	if err := s.start(r.Who, r.Param("suite"), suite, body.Update); err != nil {
		return nil, err
	}
	described, _ := s.describe(r.Who, r.Param("suite"), path)
	return api.With(http.StatusAccepted, described), nil
}

var errBeyond = api.Refuse(http.StatusForbidden, "scope", i18n.New("your key does not reach what this file tests", "你的密钥无权访问此文件所测试的目标"))

func noSuite(r *api.Request) error {
	return api.NotFound(i18n.New("there is no test file %s", "没有测试文件 %s", r.Param("suite")))
}

// mayRun returns an error if the principal may not run the tests. tests is nil if
// the file cannot be read.
func (s *Suites) mayRun(r *api.Request, tests *suite.Suite, update bool) error {
	admin := api.May(r.Who, api.ScopeAdmin)
	switch {
	case !admin && tests != nil && direct(tests):
		return api.ErrDirect
	case !s.sees(r.Who, tests):
		return noSuite(r)
	case !admin && update:
		return api.Refuse(http.StatusForbidden, "scope", i18n.New("writing snapshots needs the scope %s", "写入快照需要权限 %s", api.ScopeAdmin))
	}
	return nil
}

func (s *Suites) deleteRun(r *api.Request) (any, error) {
	s.mu.Lock()
	p := s.running[runKey{r.Who.Owner(), r.Param("suite")}]
	s.mu.Unlock()
	if p == nil {
		return nil, api.Refuse(http.StatusGone, "gone", i18n.New("this run has ended", "这次运行已结束"))
	}
	p.cancel()
	return nil, nil
}

// seesFile is sees for a file.
func (s *Suites) seesFile(who access.Principal, path string) bool {
	tests, _ := suite.ReadSuite(path) // nil if it cannot be read
	return s.sees(who, tests)
}

// sees reports whether a principal sees a test file. A file that runs a
// command, connects to a URL or cannot be read needs scope admin without bounds.
// tests is nil if the file cannot be read.
func (s *Suites) sees(who access.Principal, tests *suite.Suite) bool {
	if api.May(who, api.ScopeAdmin) && who.Unbound() {
		return true
	}
	return tests != nil && !direct(tests) && (tests.Target == "." || s.opt.Sees(who, tests.Target))
}

// direct reports whether a test file contains a URL or command instead of the
// name of a configured server.
func direct(s *suite.Suite) bool { return s.URL != "" || len(s.Argv()) > 0 }
