package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/tester/history"
	"mcp-all-in-one/internal/tester/record"
	"mcp-all-in-one/internal/tester/suite"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/api"
	"mcp-all-in-one/internal/web/bench"
)

// suiteBody describes one test file.
type suiteBody struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Target is what it tests, in words.
	Target string `json:"target,omitempty"`
	Tests  int    `json:"tests"`
	// Error says why the file cannot be used.
	Error   string `json:"error,omitempty"`
	ErrorZH string `json:"errorZH,omitempty"`
	// Running are the results so far of a run that has not ended.
	Running []suite.TestResult `json:"running,omitempty"`
	IsRun   bool               `json:"isRunning,omitempty"`
	// Runs are oldest first; only the last has results.
	Runs []SuiteRun `json:"runs"`
	// Text is the file, for one suite only.
	Text string `json:"text,omitempty"`
}

type suitesBody struct {
	Dir    string      `json:"dir"`
	Suites []suiteBody `json:"suites"`
}

// describe is a test file as a principal sees it, with the runs that it may
// look at; false when it does not see the file.
func (s *suites) describe(who access.Principal, name, path string) (suiteBody, bool) {
	b := suiteBody{Name: name, Path: path, Runs: []SuiteRun{}}
	suite, err := suite.ReadSuite(path)
	if !s.h.seesSuite(who, suite) {
		return suiteBody{}, false
	}
	if err != nil {
		b.Error, b.ErrorZH = i18n.Why(err).Both()
	} else {
		b.Target, b.Tests = targetOfSuite(suite), len(suite.Tests)
	}
	if !who.MayInspect() {
		b.Path = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range s.runs[name] {
		if who.MayLookAt(run.owner()) {
			b.Runs = append(b.Runs, run)
		}
	}
	if p := s.running[suiteKey{who.ID, name}]; p != nil {
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
		return api.CommandLine(s.Argv()[0], s.Argv()[1:])
	}
	return ""
}

func (h *Handler) getSuites(w http.ResponseWriter, r *api.Request) {
	body := suitesBody{Suites: []suiteBody{}}
	if r.Who.MayInspect() {
		body.Dir = h.suites.opt.Dir
	}
	for _, name := range h.suites.names() {
		path, err := h.suites.path(name)
		if err != nil {
			continue
		}
		if b, ok := h.suites.describe(r.Who, name, path); ok {
			body.Suites = append(body.Suites, b)
		}
	}
	api.Reply(w, http.StatusOK, body)
}

// suitePath answers a refusal itself.
func (h *Handler) suitePath(w http.ResponseWriter, r *api.Request) (string, bool) {
	path, err := h.suites.path(r.Param("suite"))
	if err != nil {
		api.Fail(w, r.Request, http.StatusBadRequest, "bad_request", i18n.Why(err))
	}
	return path, err == nil
}

func (h *Handler) getSuite(w http.ResponseWriter, r *api.Request) {
	path, ok := h.suitePath(w, r)
	if !ok {
		return
	}
	text, err := os.ReadFile(path)
	body, ok := h.suites.describe(r.Who, r.Param("suite"), path)
	if err != nil || !ok {
		noSuite(w, r)
		return
	}
	body.Text = string(text)
	api.Reply(w, http.StatusOK, body)
}

// putSuite writes a test file that can be read; another is refused.
func (h *Handler) putSuite(w http.ResponseWriter, r *api.Request) {
	var body struct {
		Text string `json:"text"`
	}
	path, ok := h.suitePath(w, r)
	if !ok || !r.Read(w, &body) {
		return
	}
	if _, err := suite.ParseSuite(path, []byte(body.Text)); err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	err := os.MkdirAll(h.suites.opt.Dir, 0o755)
	if err == nil {
		err = writeFile(path, []byte(body.Text))
	}
	if err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	h.suites.tell("", r.Param("suite"))
	described, _ := h.suites.describe(r.Who, r.Param("suite"), path)
	api.Reply(w, http.StatusOK, described)
}

func (h *Handler) deleteSuite(w http.ResponseWriter, r *api.Request) {
	path, ok := h.suitePath(w, r)
	if !ok {
		return
	}
	was, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		err = api.ErrNotFound
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	name := r.Param("suite")
	h.suites.tell("", name)
	api.Reply(w, http.StatusOK, map[string]string{"undo": h.undos.add(func(context.Context) error {
		defer h.suites.tell("", name)
		return writeFile(path, was)
	})})
}

type suiteRunBody struct {
	// Update writes the snapshots anew.
	Update bool `json:"update"`
	// Confirm is the command line that the page has shown.
	Confirm string `json:"confirm"`
}

func (h *Handler) postSuiteRun(w http.ResponseWriter, r *api.Request) {
	var body suiteRunBody
	path, ok := h.suitePath(w, r)
	if !ok || !r.Read(w, &body) {
		return
	}
	suite, err := suite.ReadSuite(path)
	if err != nil && api.May(r.Who, api.ScopeAdmin) {
		api.FailWith(w, r.Request, err)
		return
	}
	if !h.mayRun(w, r, suite, body.Update) {
		return
	}
	if argv := suite.Argv(); len(argv) > 0 && !api.Confirmed(w, r, argv[0], argv[1:], body.Confirm) {
		return
	}
	if err := h.suites.start(r.Who, r.Param("suite"), suite, body.Update); err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	described, _ := h.suites.describe(r.Who, r.Param("suite"), path)
	api.Reply(w, http.StatusAccepted, described)
}

// noSuite answers that there is no such test file.
func noSuite(w http.ResponseWriter, r *api.Request) {
	api.Fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("there is no test file %s", "没有测试文件 %s", r.Param("suite")))
}

// mayRun answers a refusal itself. A test file that cannot be read is nil.
func (h *Handler) mayRun(w http.ResponseWriter, r *api.Request, s *suite.Suite, update bool) bool {
	switch {
	case api.May(r.Who, api.ScopeAdmin):
		return true
	case s != nil && direct(s):
		bench.RefuseDirect(w, r)
	case !h.seesSuite(r.Who, s):
		noSuite(w, r)
	case update:
		api.Fail(w, r.Request, http.StatusForbidden, "scope", i18n.New("writing snapshots needs the scope %s", "写入快照需要权限 %s", api.ScopeAdmin))
	default:
		return true
	}
	return false
}

func (h *Handler) deleteSuiteRun(w http.ResponseWriter, r *api.Request) {
	h.suites.mu.Lock()
	p := h.suites.running[suiteKey{r.Who.ID, r.Param("suite")}]
	h.suites.mu.Unlock()
	if p == nil {
		api.Fail(w, r.Request, http.StatusGone, "gone", i18n.New("this run has ended", "这次运行已结束"))
		return
	}
	p.cancel()
	w.WriteHeader(http.StatusNoContent)
}

type draftBody struct {
	Server string `json:"server,omitempty"`
	// Servers are all that the calls were to; a test file has one.
	Servers []string `json:"servers"`
	Calls   int      `json:"calls"`
	Text    string   `json:"text"`
}

// postDraft makes a test file from calls that really happened. It is not
// saved.
func (h *Handler) postDraft(w http.ResponseWriter, r *api.Request) {
	var body struct {
		Q string `json:"q"`
		// Run is one run of the Bench instead.
		Run string `json:"run"`
	}
	if !r.Read(w, &body) {
		return
	}
	if body.Run != "" {
		h.draftRun(w, r, body.Run)
		return
	}
	f, err := filter(r.Who, body.Q)
	if err != nil {
		api.Fail(w, r.Request, http.StatusBadRequest, "filter", i18n.Why(err))
		return
	}
	calls, _ := h.opt.Traffic.List(f, 0, 1<<20)
	out := draftBody{Servers: []string{}}
	var turns []record.Turn
	for _, c := range slices.Backward(calls) {
		if t, ok := h.turn(&c); ok {
			turns = append(turns, t)
			if !slices.Contains(out.Servers, c.Server) {
				out.Servers = append(out.Servers, c.Server)
			}
		}
	}
	slices.Sort(out.Servers)
	if len(out.Servers) <= 1 {
		out.Server = strings.Join(out.Servers, "")
		var from *history.RunTarget
		if out.Server != "" {
			from = &history.RunTarget{Server: out.Server}
		}
		out.Text = string(suite.SuiteFrom(from, turns))
	}
	out.Calls = len(turns)
	api.Reply(w, http.StatusOK, out)
}

// draftRun writes the test file of one run.
func (h *Handler) draftRun(w http.ResponseWriter, r *api.Request, id string) {
	k, ok := h.history.of(r.Who.ID).Get(id)
	if !ok {
		api.Fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("this run is no longer kept", "这次运行已不再保留"))
		return
	}
	t := record.Turn{Method: k.Method, Params: k.Params, Took: k.Total, Err: k.Error}
	switch k.Status {
	case "ok":
		t.Result = json.RawMessage(`{}`)
	case "tool_error":
		t.Result = json.RawMessage(`{"isError":true}`)
	case "error":
	default:
		api.Fail(w, r.Request, http.StatusUnprocessableEntity, "refused", i18n.New("only a run that was answered can be a test", "只有得到回答的运行才能存为测试"))
		return
	}
	out := draftBody{Servers: []string{}, Calls: 1, Text: string(suite.SuiteFrom(k.From, []record.Turn{t}))}
	if k.From != nil && k.From.Server != "" {
		out.Server, out.Servers = k.From.Server, []string{k.From.Server}
	}
	api.Reply(w, http.StatusOK, out)
}

// turn is one call to a server as a test can repeat it.
func (h *Handler) turn(c *traffic.Call) (record.Turn, bool) {
	switch c.Method {
	case mcp.MethodToolsCall, mcp.MethodResourcesRead, mcp.MethodPromptsGet:
	default:
		return record.Turn{}, false
	}
	if c.Hop != traffic.HopServer || c.FromServer || c.Status == traffic.StatusPending {
		return record.Turn{}, false
	}
	params, whole := h.opt.Traffic.Body(c.ID, traffic.Request)
	if !whole || len(params) == 0 || params[0] != '{' {
		return record.Turn{}, false
	}
	t := record.Turn{Method: c.Method, Params: params, Took: c.Total}
	switch c.Status {
	case traffic.StatusError:
		t.Err, _ = json.Marshal(map[string]int64{"code": c.Code})
	case traffic.StatusToolError:
		t.Result = json.RawMessage(`{"isError":true}`)
	default:
		t.Result = json.RawMessage(`{}`)
	}
	return t, true
}
