package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// A talker is a chat completions API with a model that knows a little
// arithmetic. The tools that it is shown determine how it calls add.
type talker struct {
	*httptest.Server
	mu    sync.Mutex
	asked int
	seen  map[string]bool // the functions that it was shown
}

// A chat is the part of a request that the model reads.
type chat struct {
	Model    string
	Messages []struct{ Role, Content string }
	Tools    []struct {
		Function struct {
			Name       string
			Parameters json.RawMessage
		}
	}
}

const modelKey = "sk-eval-0123456789"

func newTalker(t *testing.T) *talker {
	m := &talker{seen: make(map[string]bool)}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *talker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var c chat
	switch {
	case err != nil || r.URL.Path != "/v1/chat/completions":
		http.NotFound(w, r)
		return
	case r.Header.Get("Authorization") != "Bearer "+modelKey:
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		return
	case json.Unmarshal(raw, &c) != nil || len(c.Messages) == 0:
		http.Error(w, "no chat", http.StatusBadRequest)
		return
	case c.Model != "little":
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"error":{"message":"The model %s does not exist"}}`, c.Model)
		return
	}
	m.mu.Lock()
	m.asked++
	n := m.asked
	m.mu.Unlock()
	fmt.Fprintf(w, `{"choices":[{"message":%s,"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":5}}`, m.say(&c, n), len(raw)/4)
}

var keptResult = regexp.MustCompile(`result://[0-9a-f]+`)

// say returns the message that the model writes.
func (m *talker) say(c *chat, n int) string {
	names := make(map[string]bool)
	m.mu.Lock()
	for _, tool := range c.Tools {
		names[tool.Function.Name] = true
		m.seen[tool.Function.Name] = true
	}
	m.mu.Unlock()
	task, last := "", c.Messages[len(c.Messages)-1]
	for _, said := range c.Messages {
		if said.Role == "user" {
			task = said.Content
		}
	}
	call := func(name, arguments string) string {
		text, _ := json.Marshal(arguments)
		return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":%q,"arguments":%s}}]}`, n, name, text)
	}
	// use calls a tool as the mode requires, after inspecting it.
	use := func(tool, arguments string) string {
		switch {
		case names["run"]:
			return call("run", fmt.Sprintf(`{"code":"return await tools.server.%s(%s)"}`, tool, strings.ReplaceAll(arguments, `"`, `\"`)))
		case names["exec"] && last.Role == "user":
			look := fmt.Sprintf(`{"server_name":"server","tool_name":%q}`, tool)
			if strings.Contains(fmt.Sprint(string(c.Tools[0].Function.Parameters)), `"query"`) {
				look = `{"query":"` + tool + `"}`
			}
			return call("inspect", look)
		case names["exec"]:
			return call("exec", fmt.Sprintf(`{"server_name":"server","tool_name":%q,"arguments":%s}`, tool, arguments))
		}
		return call("server__"+tool, arguments)
	}
	switch {
	case strings.Contains(task, "large") && names["run"] && last.Role == "user":
		return call("run", `{"code":"return 'needle '.repeat(5000)"}`)
	case strings.Contains(task, "large") && strings.Contains(last.Content, "result://"):
		return call("read", `{"result":"`+keptResult.FindString(last.Content)+`","offset":14000}`)
	case strings.Contains(task, "large") && names["run"] && !strings.Contains(last.Content, "needle"):
		return `{"role":"assistant","content":"It is lost."}`
	case strings.Contains(task, "hello"):
		return `{"role":"assistant","content":"Hello to you."}`
	case strings.Contains(task, "time"):
		if last.Role == "tool" && strings.Contains(last.Content, "noon") {
			return use("log_something", `{"message":"it is noon"}`)
		}
		if last.Role == "tool" && !strings.Contains(last.Content, "time") { // not the output of inspect
			return `{"role":"assistant","content":"I do not know."}`
		}
		return use("get_current_time", `{"timezone":"UTC"}`)
	case strings.Contains(task, "flood"):
		one := `{"id":"c","type":"function","function":{"name":"server__add","arguments":"{\"a\":2,\"b\":3}"}}`
		return `{"role":"assistant","content":null,"tool_calls":[` + strings.Repeat(one+",", 999) + one + `]}`
	case strings.Contains(task, "broken"):
		return call("server__add", `{"a":2,`)
	case strings.Contains(task, "many"):
		return use("long_task", `{"seconds":600}`)
	case strings.Contains(task, "now and then") && n%2 == 0:
		return use("echo", `{"message":"5"}`)
	}
	return use("add", `{"a":2,"b":3}`)
}

// An evalBench is the program, a model and a server that counts its calls.
type evalBench struct {
	t     *testing.T
	bin   string
	dir   string
	model *talker
	url   string // of the server

	mu    sync.Mutex
	calls []string
}

func newEvalBench(t *testing.T) *evalBench {
	b := &evalBench{t: t, bin: mcptest.BuildProduct(t), dir: t.TempDir(), model: newTalker(t)}
	server := mcpserver.Demo()
	server.OnCall = func(tool string, _ json.RawMessage) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.calls = append(b.calls, tool)
	}
	handler, done := server.HTTP("")
	at := httptest.NewServer(handler)
	t.Cleanup(func() { at.Close(); done() })
	b.url = at.URL + "/mcp"
	return b
}

// write writes a test file with evals.
func (b *evalBench) write(evals string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, "evals.yaml")
	must.Write(b.t, path, fmt.Sprintf("url: %s\nmodel: {url: %s/v1, name: little, key: \"${env:MODEL_KEY}\"}\nevals:\n%s", b.url, b.model.URL, evals))
	return path
}

// run runs the program and returns its exit code and output.
func (b *evalBench) run(args ...string) (code int, stdout, stderr string) {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), b.bin, append([]string{"eval"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.dir, &out, &errs
	cmd.Env = append(os.Environ(), "HOME="+b.dir, "XDG_STATE_HOME="+b.dir, "XDG_CONFIG_HOME="+b.dir, "MCP_AIO_LANG=en", "NO_COLOR=1", "MODEL_KEY="+modelKey)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	if strings.Contains(out.String()+errs.String(), modelKey) {
		b.t.Errorf("the key is shown: %s %s", out.String(), errs.String())
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// evalReport is the part of eval's JSON output that the tests check.
type evalReport struct {
	Evals []struct {
		Rows []struct {
			Eval, Mode string
			Passed, Of int
			Turns      float64
			TokensIn   int
			TokensOut  int
			Why        []struct{ Text string }
			Runs       []struct {
				Calls []struct {
					Tool      string
					Arguments json.RawMessage
				}
				Lookups int
			}
		}
	}
	Missed int
}

func (b *evalBench) report(args ...string) (int, evalReport) {
	b.t.Helper()
	code, out, errs := b.run(append(args, "--json")...)
	var r evalReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Evals) != 1 {
		b.t.Fatalf("exit code %d: %v\n%s\n%s", code, err, out, errs)
	}
	return code, r
}

const evals = `
  - {name: adds, task: What is 2 + 3?, expect: {tool: add, args: {a: 2, b: 3}}, runs: 2}
  - {name: adds wrongly, task: What is 2 + 4?, expect: {tool: server.add, args: {b: 4}}, runs: 1}
  - {name: picks another, task: What is 2 + 3?, expect: {tool: echo}, runs: 1}
  - {name: one of two, task: What is 2 + 3?, expect: {any: [{tool: echo}, {tool: add, jq: .a == 2}]}, runs: 1}
  - {name: greets, task: Say hello, expect: {none: true}, runs: 1}
  - {name: greets with a tool, task: Say hello, expect: {tool: echo}, runs: 1}
  - {name: calls for nothing, task: What is 2 + 3?, expect: {none: true}, runs: 1}
  - {name: in two steps, task: Log the time, results: {get_current_time: noon}, expect: {tool: log_something, args: {message: it is noon}}, runs: 1}
  - {name: must not, task: What is 2 + 3?, expect: {tool: echo, not: add}, runs: 1}
  - {name: too long, task: many turns, expect: {tool: echo}, results: {long_task: not yet}, runs: 1, turns: 3}
  - {name: reads on, task: a large value, expect: {tool: add}, runs: 1}
`

// TestEval gives tasks to a model in all modes. The server is never called, and
// the model's choice is also recognized behind exec and run.
func TestEval(t *testing.T) {
	t.Parallel()
	b := newEvalBench(t)
	code, r := b.report(b.write(evals))
	if code != 0 || r.Missed != 0 {
		t.Errorf("exit code %d, %d missed, although no rate was asked for", code, r.Missed)
	}
	want := map[string]struct {
		passed bool
		why    string
	}{
		"adds":               {true, ""},
		"adds wrongly":       {false, "called server.add: args: .b: expected 4, got 3"},
		"picks another":      {false, "called server.add, expected echo"},
		"one of two":         {true, ""},
		"greets":             {true, ""},
		"greets with a tool": {false, "answered without calling echo: Hello to you."},
		"calls for nothing":  {false, "called server.add, expected no tool"},
		"in two steps":       {true, ""},
		"reads on":           {true, ""},
		"must not":           {false, "called server.add, which is forbidden"},
		"too long":           {false, "nothing was decided after 3 turns"},
	}
	if len(r.Evals[0].Rows) != 4*len(want) {
		t.Errorf("there are %d rows", len(r.Evals[0].Rows))
	}
	for _, row := range r.Evals[0].Rows {
		w := want[row.Eval]
		if (row.Passed == row.Of) != w.passed || row.Of == 0 || w.why != "" && (len(row.Why) != 1 || row.Why[0].Text != w.why) {
			t.Errorf("%s in %s: %d of %d passed: %v", row.Eval, row.Mode, row.Passed, row.Of, row.Why)
		}
		if row.TokensIn == 0 || row.TokensOut == 0 || row.Turns < 1 {
			t.Errorf("%s in %s cost %d and %d tokens in %v turns", row.Eval, row.Mode, row.TokensIn, row.TokensOut, row.Turns)
		}
		if row.Eval != "adds" {
			continue
		}
		lookups := map[string]int{"full": 0, "compact": 1, "search": 1, "code": 0}[row.Mode]
		for _, run := range row.Runs {
			if len(run.Calls) != 1 || run.Calls[0].Tool != "server.add" || string(run.Calls[0].Arguments) != `{"a":2,"b":3}` || run.Lookups != lookups {
				t.Errorf("%s in %s called %+v", row.Eval, row.Mode, run)
			}
		}
	}
	if len(b.calls) > 0 {
		t.Errorf("the server was called: %v", b.calls)
	}
	for _, name := range []string{"server__add", "inspect", "exec", "run"} {
		if !b.model.seen[name] {
			t.Errorf("the model was never shown %s", name)
		}
	}
}

// TestEvalBadJSON uses a model that writes arguments that are not JSON.
func TestEvalBadJSON(t *testing.T) {
	t.Parallel()
	b := newEvalBench(t)
	_, r := b.report(b.write("  - {task: a broken call, expect: {tool: add}}"), "--modes", "full", "--runs", "1")
	if row := r.Evals[0].Rows[0]; row.Passed != 0 || row.Why[0].Text != `the arguments of server__add are not a JSON object: "{\"a\":2,"` {
		t.Errorf("it is %+v", row)
	}
}

// TestEvalSeen uses a file whose texts contain terminal control characters.
func TestEvalSeen(t *testing.T) {
	t.Parallel()
	b := newEvalBench(t)
	code, stdout, _ := b.run(b.write(`
  - {name: "one\e[31m", task: What is 2 + 3?, expect: {tool: add, jq: "false #\e[31m"}}
  - {name: "two\e[31m", task: x, skip: "because\e[31m", expect: {none: true}}
`), "--modes", "full", "--runs", "1")
	if code != 0 || strings.Contains(stdout, "\x1b") || strings.Count(stdout, `\u001b[31m`) != 5 {
		t.Errorf("exit code %d: %q", code, stdout)
	}
}

// TestEvalFlood uses a model that calls a tool a thousand times in one answer.
func TestEvalFlood(t *testing.T) {
	t.Parallel()
	b := newEvalBench(t)
	_, r := b.report(b.write("  - {task: a flood, call: readonly, expect: {tool: echo}}"), "--modes", "full", "--runs", "1")
	if row := r.Evals[0].Rows[0]; row.Passed != 0 || row.Why[0].Text != "one answer has 1000 tool calls; the limit is 128" {
		t.Errorf("it is %+v", row.Why)
	}
	if len(b.calls) > 0 {
		t.Errorf("the server was called %d times", len(b.calls))
	}
}

// TestEvalCallsReadOnly checks that, if the file allows it, only tools that
// change nothing are called.
func TestEvalCallsReadOnly(t *testing.T) {
	t.Parallel()
	b := newEvalBench(t)
	_, r := b.report(b.write(`
  - {name: reads, task: What is 2 + 3?, expect: {tool: echo}, call: readonly, turns: 2}
  - {name: writes, task: Tell the time, expect: {tool: echo}, call: readonly}
`), "--runs", "1", "--modes", "full")
	if got := r.Evals[0].Rows[0].Why[0].Text; got != "nothing was decided after 2 turns" {
		t.Errorf("reading: %s", got)
	}
	if got := r.Evals[0].Rows[1].Why[0].Text; got != "called server.get_current_time, expected echo" {
		t.Errorf("writing: %s", got)
	}
	if got := strings.Join(b.calls, " "); got != "add add" {
		t.Errorf("the server was called: %s", got)
	}
}

// TestEvalRates checks the minimum rate with a model that is right every other
// time.
func TestEvalRates(t *testing.T) {
	t.Parallel()
	b := newEvalBench(t)
	path := b.write("  - {name: halves, task: now and then 2 + 3, expect: {tool: add}}")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 0, "50 %"},
		{[]string{"--min-rate", "0.5"}, 0, "50 %"},
		{[]string{"--min-rate", "0.8"}, 7, "50 %, needs 80 %"},
	} {
		code, out, errs := b.run(append([]string{path, "--modes", "full", "--runs", "4", "--junit", "junit.xml"}, c.args...)...)
		if code != c.code || !strings.Contains(out, c.want) || !strings.Contains(out, "halves, full: 2 × called server.echo, expected add") {
			t.Errorf("%v: exit code %d\n%s%s", c.args, code, out, errs)
		}
	}
	if junit, err := os.ReadFile(filepath.Join(b.dir, "junit.xml")); err != nil || !strings.Contains(string(junit), `<failure message="2 of 4 runs passed, 80 % are needed">`) {
		t.Errorf("the report is %s, %v", junit, err)
	}
}

// TestEvalReplays records a model and replays the recording without a model and
// a key.
func TestEvalReplays(t *testing.T) {
	t.Parallel()
	b := newEvalBench(t)
	path := b.write(evals)
	_, live := b.report(path, "--record", "model.jsonl")
	text, err := os.ReadFile(filepath.Join(b.dir, "model.jsonl"))
	if err != nil || bytes.Contains(text, []byte(modelKey)) || bytes.Contains(text, []byte("What is 2")) {
		t.Errorf("the recording has more in it than answers: %s, %v", text, err)
	}
	b.model.Close()
	code, replayed := b.report(path, "--replay", "model.jsonl", "--parallel", "3")
	if code != 0 || fmt.Sprint(replayed) != fmt.Sprint(live) {
		t.Errorf("exit code %d: it differs:\n%+v\n%+v", code, live, replayed)
	}
	if code, _, errs := b.run(path, "--replay", "model.jsonl", "--modes", "full", "--runs", "9"); code != 7 || !strings.Contains(errs, `has 6 answers to this request and no more`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
	changed := b.write(strings.Replace(evals, "What is 2 + 4?", "What is 2 + 5?", 1))
	code, out, errs := b.run(changed, "--replay", "model.jsonl")
	if code != 7 || !strings.Contains(errs, `eval "adds wrongly" in mode full, run 1, turn 1: this request is not in model.jsonl`) || !strings.Contains(out, "adds ") {
		t.Errorf("exit code %d: %s\n%s", code, out, errs)
	}
}

// TestEvalWrong checks the messages for user errors.
func TestEvalWrong(t *testing.T) {
	t.Parallel()
	b := newEvalBench(t)
	const one = "  - {task: What is 2 + 3?, expect: {tool: add}}"
	for _, c := range []struct {
		name, evals string
		args        []string
		code        int
		want        []string
	}{
		{"no model there", one, []string{"--model-url", "http://127.0.0.1:1/v1"}, 4, []string{"http://127.0.0.1:1/v1/chat/completions cannot be reached", "--model-url"}},
		{"another address", one, []string{"--model-url", b.model.URL + "/v2", "--key", "$MODEL_KEY"}, 2, []string{"is not the address of an API (HTTP 404)", "/v1"}},
		{"key for another address", one, []string{"--model-url", b.model.URL + "/v1/"}, 3, []string{"wants a key (HTTP 401)", "--key '${env:NAME}'"}},
		{"another model", one, []string{"--model", "large"}, 2, []string{"(HTTP 404): The model large does not exist", "--model NAME"}},
		{"wrong key", one, []string{"--key", "${env:HOME}"}, 3, []string{"refused the key (HTTP 401)"}},
		{"no key", one, []string{"--key", "${env:NO_SUCH_KEY}"}, 2, []string{"model.key: NO_SUCH_KEY is not there", "export NO_SUCH_KEY=…"}},
		{"no secret", one, []string{"--key", "${secret:none}"}, 2, []string{"model.key: secret:none is not there", "secret set none"}},
		{"key itself", one, []string{"--key", "sk-1"}, 2, []string{"takes the name of a variable"}},
		{"misspelt tool", "  - {task: x, expect: {tool: ad}}", nil, 2, []string{`has no tool "ad"`, "did you mean add?"}},
		{"tool elsewhere", "  - {task: x, expect: {tool: other.add}}", nil, 2, []string{`has no tool "other.add"`}},
		{"typo", "  - {task: x, expct: {tool: add}}", nil, 2, []string{"evals.yaml", "expct"}},
		{"mode", one, []string{"--modes", "ful"}, 2, []string{`there is no mode "ful"`, "full,compact,search,code"}},
		{"both", one, []string{"--record", "a", "--replay", "b"}, 2, []string{"not both"}},
		{"no recording", one, []string{"--replay", "none.jsonl"}, 2, []string{"none.jsonl"}},
		{"rate", one, []string{"--min-rate", "80"}, 2, []string{"must be between 0 and 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := b.run(append([]string{b.write(c.evals), "--runs", "1"}, c.args...)...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, part := range c.want {
				if !strings.Contains(errs, part) {
					t.Errorf("it says %s%s, without %s", out, errs, part)
				}
			}
		})
	}
	if len(b.calls) > 0 {
		t.Errorf("the server was called: %v", b.calls)
	}
}
