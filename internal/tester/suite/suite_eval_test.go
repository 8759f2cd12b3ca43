package suite

import (
	"encoding/json"
	"strings"
	"testing"
)

// read parses a file that contains only evals.
func read(t *testing.T, text string) (*Suite, error) {
	t.Helper()
	return ParseSuite("evals.yaml", []byte(text))
}

func TestEvalsThatCannotBeRead(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no task", "evals: [{name: x, expect: {tool: add}}]", "task is missing"},
		{"no expectation", "evals: [{task: x}]", "expect has 0 of tool, any and none"},
		{"two expectations", "evals: [{task: x, expect: {tool: add, none: true}}]", "expect has 2 of tool, any and none"},
		{"typo", "evals: [{task: x, expct: {tool: add}}]", `evals.yaml:1:19: unknown key "expct"; did you mean "expect"?`},
		{"typo below", "evals: [{task: x, expect: {tol: add}}]", `unknown key "tol"; did you mean "tool"?`},
		{"no key at all", "frobnicate: 1\nevals: [{task: x}]", `evals.yaml:1:1: unknown key "frobnicate"`},
		{"any without tool", "evals: [{task: x, expect: {any: [{args: {a: 1}}]}}]", "every entry of any needs a tool"},
		{"args without tool", "evals: [{task: x, expect: {none: true, args: {a: 1}}}]", "in the same object as their tool"},
		{"jq", "evals: [{task: x, expect: {tool: add, jq: '.a =='}}]", `reading ".a =="`},
		{"schema", "evals: [{task: x, expect: {tool: add, schema: {type: string}}}]", "schema: the schema cannot be used"},
		{"call", "evals: [{task: x, expect: {tool: add}, call: always}]", `call is never or readonly, not "always"`},
		{"rate", "evals: [{task: x, expect: {tool: add}, min_rate: 80}]", "min_rate must be between 0 and 1, not 80"},
		{"runs", "evals: [{task: x, expect: {tool: add}, runs: -1}]", "runs and turns"},
		{"same name", "evals: [{name: x, task: y, expect: {none: true}}, {name: x, task: z, expect: {none: true}}]", `two evals are called "x"`},
		{"key", "model: {key: sk-123}\nevals: [{task: x, expect: {none: true}}]", "model.key: write ${env:NAME}"},
		{"key in part", "model: {key: \"sk-123${env:X}\"}\nevals: [{task: x, expect: {none: true}}]", "model.key: write ${env:NAME}"},
		{"params", "model: {params: {stream: true}}\nevals: [{task: x, expect: {none: true}}]", "stream cannot be set"},
		{"nothing", "target: x", "there are no tests in it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := read(t, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestEvalNames(t *testing.T) {
	s, err := read(t, "evals: [{task: \"add\\nthem\", expect: {tool: [add, sum], not: fail}, results: {echo: x}}, {task: add, expect: {any: [{tool: s.add}]}}]")
	if err != nil {
		t.Fatal(err)
	}
	if s.Evals[0].Name != "add" || s.Evals[1].Name != "add (2)" {
		t.Errorf("the names are %q and %q", s.Evals[0].Name, s.Evals[1].Name)
	}
	if got := strings.Join(s.Evals[0].Tools(), " "); got != "add echo fail sum" {
		t.Errorf("it mentions %s", got)
	}
	if !s.Evals[1].Expect.All()[0].Names("s", "add") || s.Evals[1].Expect.All()[0].Names("t", "add") || !s.Evals[0].Expect.All()[0].Names("t", "sum") {
		t.Error("a tool has another name")
	}
}

func TestArgumentsOfEvals(t *testing.T) {
	const got = `{"query":"bug","labels":["a","b"],"page":{"size":5,"at":1}}`
	for _, c := range []struct{ expect, want string }{
		{"args: {query: bug}", ""},
		{"args: {page: {size: 5.0}}", ""},
		{"args: {labels: [a, b]}", ""},
		{"args: {labels: [a]}", `.labels[1]: not expected: "b"`},
		{"args: {query: feature}", `args: .query: expected "feature", got "bug"`},
		{"args: {state: open}", `args: .state: missing, expected "open"`},
		{"equals: {query: bug}", `.labels: not expected`},
		{"equals: {query: bug, labels: [a, b], page: {size: 5, at: 1}}", ""},
		{"jq: .page.size <= 5", ""},
		{"jq: ['.page.size <= 5', '.query == \"x\"']", `jq .query == "x" gives false`},
		{"schema: {required: [query]}", ""},
		{"schema: {properties: {query: {enum: [x]}}}", "schema: query"},
	} {
		s, err := read(t, "evals: [{task: x, expect: {tool: add, "+c.expect+"}}]")
		if err != nil {
			t.Fatal(err)
		}
		problems := s.Evals[0].Expect.All()[0].Unmet(json.RawMessage(got))
		switch {
		case c.want == "" && len(problems) > 0:
			t.Errorf("%s: %v", c.expect, problems)
		case c.want != "" && (len(problems) == 0 || !strings.Contains(problems[0].String(), c.want)):
			t.Errorf("%s: %v", c.expect, problems)
		}
	}
}
