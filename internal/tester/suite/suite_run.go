package suite

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
)

// A TestResult is the result of one test.
type TestResult struct {
	Name string `json:"name"`
	// Status is passed, failed or skipped.
	Status     string        `json:"status"`
	Problems   []string      `json:"problems,omitempty"`
	ProblemsZH []string      `json:"problemsZH,omitempty"`
	Took       time.Duration `json:"took"`
	// Updated reports that a snapshot was written.
	Updated bool `json:"updated,omitempty"`
}

// A SuiteResult is the result of one test file.
type SuiteResult struct {
	Path    string       `json:"path"`
	Target  string       `json:"target,omitempty"`
	Results []TestResult `json:"results"`
}

// Failed counts the failed tests.
func (r *SuiteResult) Failed() int {
	n := 0
	for _, t := range r.Results {
		if t.Status == "failed" {
			n++
		}
	}
	return n
}

// A SuiteRunner runs the tests of one file on one connection.
type SuiteRunner struct {
	Session *probe.Session
	Suite   *Suite
	// Answers is the Answerer that the session was opened with.
	Answers *TestAnswers
	// Update rewrites the snapshots.
	Update bool
	// OnResult is called after each test; it may be nil.
	OnResult func(TestResult)

	tools     *probe.Listing
	snapshots *snapshots
}

// TestAnswers answers questions for the current test.
type TestAnswers struct {
	mu     sync.Mutex
	script *probe.Script
	other  probe.Answerer // used if the test has no answer; nil for none
	asked  []string
}

// Stand replaces the Answerer in o by a. A Script in o stays as the fallback
// for questions that a test does not answer.
func (a *TestAnswers) Stand(o *probe.Options) {
	if prepared, ok := o.Answer.(*probe.Script); ok {
		a.other = prepared
	}
	o.Answer = a
}

// Answer answers a question for the current test.
func (a *TestAnswers) Answer(ctx context.Context, q *probe.Question) (json.RawMessage, error) {
	a.mu.Lock()
	a.asked = append(a.asked, q.Kind())
	script := a.script
	a.mu.Unlock()
	if script == nil {
		return nil, &probe.PendingError{Question: *q}
	}
	return script.Answer(ctx, q)
}

func (a *TestAnswers) begin(t *Test) {
	values := make(map[string]json.RawMessage)
	for key, v := range t.Answer {
		values[key] = JSONOf(v)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.script, a.asked = &probe.Script{Values: values}, nil
}

func (a *TestAnswers) kinds() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

// Run runs every test, in order.
func (r *SuiteRunner) Run(ctx context.Context) (*SuiteResult, error) {
	var err error
	if r.snapshots, err = readSnapshots(r.Suite.Path); err != nil {
		return nil, err
	}
	out := &SuiteResult{Path: r.Suite.Path, Target: r.Session.Target().Name}
	for i := range r.Suite.Tests {
		t := &r.Suite.Tests[i]
		began := time.Now()
		res := r.run(ctx, t)
		res.Name, res.Took = t.Name, time.Since(began)
		out.Results = append(out.Results, res)
		if r.OnResult != nil {
			r.OnResult(res)
		}
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
	}
	return out, r.snapshots.save()
}

func (r *SuiteRunner) run(ctx context.Context, t *Test) TestResult {
	if t.Skip != "" {
		return testResult("skipped", i18n.Plain(t.Skip))
	}
	r.Answers.begin(t)
	method, params, err := r.request(ctx, t)
	if err != nil {
		return testResult("failed", i18n.Why(err))
	}
	timeout := time.Duration(t.Timeout)
	if timeout <= 0 {
		timeout = time.Minute
	}
	var x *probe.Exchange
	if t.List != "" {
		x, err = r.list(ctx, t.List)
	} else {
		x, err = r.Session.Call(ctx, method, params, probe.CallOptions{Idle: timeout, Limit: 10 * timeout, OnProgress: func(probe.Progress) {}})
	}
	if err != nil {
		if errors.As(err, new(*probe.PendingError)) {
			err = i18n.Errorf("%w; the test has no answer for it", "%w；该测试没有给出回答", err)
		}
		return testResult("failed", i18n.Why(err))
	}
	if t.Script != "" && noScripts(x) {
		return testResult("failed", i18n.New("script: is run by a gateway, and the target is none; write target: . into the file", "script: 由网关运行，而该目标不是网关；请在文件中写 target: ."))
	}
	j := &judgement{runner: r, test: t, x: x}
	j.judge(ctx)
	status := "passed"
	if len(j.problems) > 0 {
		status = "failed"
	}
	result := testResult(status, j.problems...)
	result.Updated = j.updated
	return result
}

// noScripts reports whether the answer says that there is no tool that runs
// scripts.
func noScripts(x *probe.Exchange) bool {
	return x.Err != nil && strings.Contains(x.Err.Message, mcp.ScriptTool) || x.IsToolError() && strings.Contains(probe.TextOf(x.Result), mcp.ScriptTool)
}

func testResult(status string, problems ...i18n.Text) TestResult {
	r := TestResult{Status: status}
	r.Problems, r.ProblemsZH = i18n.Both(problems)
	return r
}

// request returns the request of a test.
func (r *SuiteRunner) request(ctx context.Context, t *Test) (string, json.RawMessage, error) {
	switch {
	case t.Call != "":
		params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(t.Call), "name")
		if t.Args != nil {
			params = jsonrpc.Set(params, JSONOf(t.Args), "arguments")
		}
		return mcp.MethodToolsCall, params, nil
	case t.Script != "":
		params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(mcp.ScriptTool), "name")
		params = jsonrpc.Set(params, jsonrpc.Quote(t.Script), "arguments", "code")
		if t.Args != nil {
			params = jsonrpc.Set(params, JSONOf(t.Args), "arguments", "args")
		}
		return mcp.MethodToolsCall, params, nil
	case t.Read != "":
		uri, err := probe.ExpandTemplate(t.Read, texts(t.Args))
		return mcp.MethodResourcesRead, jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(uri), "uri"), err
	case t.Prompt != "":
		return mcp.MethodPromptsGet, probe.PromptParams(t.Prompt, texts(t.Args)), nil
	case t.Complete != "":
		ref := jsonrpc.Set([]byte(`{"type":"ref/prompt"}`), jsonrpc.Quote(t.Complete), "name")
		if strings.Contains(t.Complete, "://") {
			ref = jsonrpc.Set([]byte(`{"type":"ref/resource"}`), jsonrpc.Quote(t.Complete), "uri")
		}
		params := jsonrpc.Set([]byte(`{}`), ref, "ref")
		for name, value := range texts(t.Args) {
			params = jsonrpc.Set(params, jsonrpc.Quote(name), "argument", "name")
			params = jsonrpc.Set(params, jsonrpc.Quote(value), "argument", "value")
		}
		return mcp.MethodComplete, params, nil
	case t.Request != "":
		if t.Params == nil {
			return t.Request, nil, nil
		}
		return t.Request, JSONOf(t.Params), nil
	}
	return "", nil, nil
}

// list fetches all pages of one list as one answer.
func (r *SuiteRunner) list(ctx context.Context, what string) (*probe.Exchange, error) {
	for k := range probe.ListMethods {
		if probe.KindWord(k) != what {
			continue
		}
		began := time.Now()
		l, err := r.Session.List(ctx, k)
		if err != nil {
			return nil, err
		}
		raw := l.Raw
		if raw == nil {
			raw = []json.RawMessage{}
		}
		return &probe.Exchange{Method: probe.ListMethods[k], Result: JSONOf(map[string]any{k.Member(): raw}), Timing: probe.Timing{Total: time.Since(began)}}, nil
	}
	return nil, i18n.Errorf("there is no list %q: tools, resources, templates and prompts are", "没有列表 %q：可用的是 tools、resources、templates 和 prompts", what)
}

func texts(args map[string]any) map[string]string {
	out := make(map[string]string, len(args))
	for name, v := range args {
		if s, ok := v.(string); ok {
			out[name] = s
			continue
		}
		out[name] = string(JSONOf(v))
	}
	return out
}
