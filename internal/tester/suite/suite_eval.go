package suite

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/lazy"
	"mcp-all-in-one/internal/probe"
)

// A Model is the model for the evals of a file: a chat completions API.
type Model struct {
	// URL is the address without /chat/completions.
	URL string `yaml:"url"`
	// Name is the API's name of the model.
	Name string `yaml:"name"`
	// Key is a variable, such as ${env:NAME} or ${secret:NAME}. The file must
	// not contain the key itself, because others read the file.
	Key string `yaml:"key"`
	// System is the system prompt of every task.
	System string `yaml:"system"`
	// Params are sent unchanged with every request, for example temperature.
	Params map[string]any `yaml:"params"`
	// Fit is the dialect of the API, as in the config file; openai if empty.
	Fit     string   `yaml:"fit"`
	Timeout duration `yaml:"timeout"`
}

// Patience returns the time limit of one answer of the model; zero if unset.
func (m *Model) Patience() time.Duration { return time.Duration(m.Timeout) }

// IsVariable reports whether a key is a variable: $NAME, or ${...} as in the
// config file.
func IsVariable(key string) bool { return variable().MatchString(key) }

var variable = lazy.Regexp(`^\$(\w+|\{[^{}]+\})$`)

// ours lists the members of a request that a file may not set.
var ours = []string{"model", "messages", "tools", "stream"}

// An Eval is a task for a model, and the tool that it should pick.
type Eval struct {
	Name string `yaml:"name"`
	// Task is the prompt of the user.
	Task   string `yaml:"task"`
	Expect Choice `yaml:"expect"`
	// Results are the answers of other tools that the model may call first, by
	// name.
	Results map[string]any `yaml:"results"`
	// Call is never or readonly; with readonly, such other tools are executed
	// if they are read-only.
	Call string `yaml:"call"`
	// Runs is how often the task is given, Turns how often the model may answer
	// in each run; zero for the default.
	Runs  int `yaml:"runs"`
	Turns int `yaml:"turns"`
	// MinRate is the required pass rate; nil for none.
	MinRate *float64 `yaml:"min_rate"`
	Skip    string   `yaml:"skip"`
}

// CallReadOnly is the Call of an eval that executes read-only tools.
const CallReadOnly = "readonly"

// A Choice defines the correct calls. Exactly one of Tool, Any and None is set.
type Choice struct {
	Wanted `yaml:",inline"`
	// Any lists alternative correct calls.
	Any []Wanted `yaml:"any"`
	// None means that no tool is correct.
	None bool `yaml:"none"`
	// Not lists tools that must not be called at all.
	Not words `yaml:"not"`
}

// Wanted is a correct call.
type Wanted struct {
	// Tool is TOOL or SERVER.TOOL, with the server's own name; if there are
	// several, each of them is correct.
	Tool words `yaml:"tool"`
	// Args is a subset of the arguments, Equals all of them.
	Args   map[string]any `yaml:"args"`
	Equals any            `yaml:"equals"`
	// JQ must yield true for the arguments; Schema must accept them.
	JQ     words `yaml:"jq"`
	Schema any   `yaml:"schema"`
}

// All returns the correct calls; none if no tool is correct.
func (c *Choice) All() []Wanted {
	if len(c.Any) > 0 {
		return c.Any
	}
	if len(c.Tool) > 0 {
		return []Wanted{c.Wanted}
	}
	return nil
}

// String returns the correct tools on one line.
func (c *Choice) String() string {
	var names []string
	for _, w := range c.All() {
		names = append(names, w.Tool...)
	}
	return strings.Join(slices.Compact(names), ", ")
}

// IsTool reports whether a tool name in a test file means the given tool of the
// given server.
func IsTool(name, server, tool string) bool {
	return name == tool || name == server+"."+tool
}

// Names reports whether a tool is one of the correct tools.
func (w *Wanted) Names(server, tool string) bool {
	return slices.ContainsFunc(w.Tool, func(name string) bool { return IsTool(name, server, tool) })
}

// Unmet returns the problems with the arguments of a call; none if they are
// correct.
func (w *Wanted) Unmet(arguments json.RawMessage) []i18n.Text {
	j := &judgement{}
	if w.Args != nil {
		j.part(JSONOf(w.Args), arguments)
	}
	if w.Equals != nil {
		j.differences(i18n.New("args", "参数"), JSONOf(w.Equals), arguments, nil)
	}
	j.holds(w.JQ, arguments)
	if w.Schema != nil {
		wrong, err := probe.CheckJSON(w.schema(), arguments)
		if err != nil {
			j.fail("schema: %v", "schema：%v", err)
		}
		for _, line := range wrong {
			j.fail("schema: %v", "schema：%v", line)
		}
	}
	return j.problems
}

// schema returns the schema of the arguments, which must be an object.
func (w *Wanted) schema() json.RawMessage {
	raw := JSONOf(w.Schema)
	if jsonrpc.Get(raw, "type") == nil {
		raw = jsonrpc.Set(jsonrpc.AsObject(raw), []byte(`"object"`), "type")
	}
	return raw
}

// part checks that got contains all members of want.
func (j *judgement) part(want, got json.RawMessage) {
	found, err := probe.DiffJSON(want, got, nil)
	if err != nil {
		j.fail("%v: %v", "%v：%v", i18n.New("args", "参数"), err)
		return
	}
	for _, d := range found {
		if d.A != nil || isIndex(d.Path) {
			j.fail("args: %v", "参数：%v", d.Unmet())
		}
	}
}

// isIndex reports whether a path ends with an array index; arrays must match as
// a whole.
func isIndex(path string) bool {
	return strings.HasSuffix(path, "]") && !strings.HasSuffix(path, `"]`)
}

// checkModel refuses reserved params and a literal key.
func (s *Suite) checkModel() error {
	m := &s.Model
	for _, name := range ours {
		if _, set := m.Params[name]; set {
			return i18n.Errorf("model.params: %s cannot be set", "model.params：不能设置 %s", name)
		}
	}
	if m.Key != "" && !IsVariable(m.Key) {
		return i18n.Errorf("model.key: write ${env:NAME} or ${secret:NAME}; everyone who can read the test file could read the key", "model.key：请写 ${env:NAME} 或 ${secret:NAME}；否则能读取测试文件的人都能读到密钥")
	}
	return nil
}

func (s *Suite) checkEvals() error {
	if err := s.checkModel(); err != nil {
		return err
	}
	names := make(map[string]bool)
	for i := range s.Evals {
		e := &s.Evals[i]
		if e.Name == "" {
			e.Name = firstLine(e.Task)
			for n := 2; names[e.Name]; n++ {
				e.Name = fmt.Sprintf("%s (%d)", firstLine(e.Task), n)
			}
		}
		if names[e.Name] {
			return i18n.Errorf("two evals are called %q", "有两个 eval 都叫 %q", e.Name)
		}
		names[e.Name] = true
		if err := e.check(); err != nil {
			return i18n.Errorf("eval %q: %w", "eval %q：%w", e.Name, err)
		}
	}
	return nil
}

func (e *Eval) check() error {
	switch {
	case strings.TrimSpace(e.Task) == "":
		return i18n.Errorf("task is missing: give the prompt for the model", "缺少 task：请写出交给模型的提示")
	case e.Call != "" && e.Call != "never" && e.Call != CallReadOnly:
		return i18n.Errorf("call is never or readonly, not %q", "call 应为 never 或 readonly，而不是 %q", e.Call)
	case e.Runs < 0 || e.Turns < 0:
		return i18n.Errorf("runs and turns are at least 1", "runs 与 turns 至少为 1")
	case e.MinRate != nil && (*e.MinRate < 0 || *e.MinRate > 1):
		return i18n.Errorf("min_rate must be between 0 and 1, not %v", "min_rate 应在 0 到 1 之间，而不是 %v", *e.MinRate)
	}
	return e.Expect.check()
}

func (c *Choice) check() error {
	n := 0
	for _, set := range []bool{len(c.Tool) > 0, len(c.Any) > 0, c.None} {
		if set {
			n++
		}
	}
	if n != 1 {
		return i18n.Errorf("expect has %d of tool, any and none; exactly one is needed", "expect 含有 tool、any 和 none 中的 %d 项；应恰好有一项", n)
	}
	if len(c.Tool) == 0 && c.Wanted.isBound() {
		return i18n.Errorf("args, equals, jq and schema belong in the same object as their tool", "args、equals、jq 和 schema 应与其 tool 写在同一个对象中")
	}
	for i := range c.Any {
		if len(c.Any[i].Tool) == 0 {
			return i18n.Errorf("every entry of any needs a tool", "any 的每一项都需要 tool")
		}
	}
	for _, w := range c.All() {
		for _, expression := range w.JQ {
			if err := probe.CheckJQ(expression); err != nil {
				return i18n.Errorf("jq: %w", "jq：%w", err)
			}
		}
		if w.Schema == nil {
			continue
		}
		if _, err := probe.CheckJSON(w.schema(), []byte(`{}`)); err != nil {
			return i18n.Errorf("schema: %w", "schema：%w", err)
		}
	}
	return nil
}

// isBound reports whether w has expectations about the arguments.
func (w *Wanted) isBound() bool {
	return w.Args != nil || w.Equals != nil || len(w.JQ) > 0 || w.Schema != nil
}

// Tools returns the tool names that an eval mentions.
func (e *Eval) Tools() []string {
	var names []string
	for _, w := range e.Expect.All() {
		names = append(names, w.Tool...)
	}
	names = append(names, e.Expect.Not...)
	names = slices.AppendSeq(names, maps.Keys(e.Results))
	slices.Sort(names)
	return slices.Compact(names)
}
