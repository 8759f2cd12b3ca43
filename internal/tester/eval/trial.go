package eval

import (
	"bytes"
	"fmt"
	"sync"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/suite"
)

// A trial compares the calls of one run with the expected ones. The run is
// decided by the first call that is correct or forbidden, or that is wrong and
// has neither a prepared result nor permission to run.
type trial struct {
	eval *suite.Eval
	end  func()

	mu      sync.Mutex
	picks   []Pick
	decided bool
	passed  bool
	reason  i18n.Text
}

// rehearse answers a tool call in place of the server; nil lets it run.
func (t *trial) rehearse(p Pick) *jsonrpc.Response {
	p.Arguments = bytes.Clone(p.Arguments)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.decided {
		return answered("The run is over.", true)
	}
	t.picks = append(t.picks, p)
	expect := &t.eval.Expect
	for _, name := range expect.Not {
		if suite.IsTool(name, p.Server, p.Tool) {
			t.fail(i18n.New("called %s, which is forbidden", "调用了被禁止的 %s", p.Name()))
			return answered("This tool is not available.", true)
		}
	}
	wrong := i18n.New("called %s, expected %s", "调用了 %s，应为 %s", p.Name(), expect.String())
	if expect.None {
		wrong = i18n.New("called %s, expected no tool", "调用了 %s，应不调用工具", p.Name())
	}
	for _, w := range expect.All() {
		if !w.Names(p.Server, p.Tool) {
			continue
		}
		problems := w.Unmet(p.Arguments)
		if len(problems) == 0 {
			t.decide(true, i18n.Text{})
			return answered("Done.", false)
		}
		wrong = i18n.New("called %s: %v", "调用了 %s：%v", p.Name(), problems[0])
	}
	for name, result := range t.eval.Results {
		if suite.IsTool(name, p.Server, p.Tool) {
			return prepared(result)
		}
	}
	if t.eval.Call == suite.CallReadOnly && p.ReadOnly && !expect.None {
		return nil
	}
	t.fail(wrong)
	return answered("This tool is not available.", true)
}

func (t *trial) fail(why i18n.Text) { t.decide(false, why) }

func (t *trial) decide(passed bool, why i18n.Text) {
	t.decided, t.passed, t.reason = true, passed, why
	t.end()
}

// isDecided reports whether a call has decided the run.
func (t *trial) isDecided() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.decided
}

// decideOnce decides a run that no call has decided.
func (t *trial) decideOnce(passed bool, why i18n.Text) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.decided {
		t.decide(passed, why)
	}
}

// called returns the calls for a report.
func (t *trial) called() []Called {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]Called, len(t.picks))
	for i := range t.picks {
		list[i] = Called{t.picks[i].Name(), t.picks[i].Arguments}
	}
	return list
}

// prepared returns a result from the file: a text or a value.
func prepared(value any) *jsonrpc.Response {
	if text, ok := value.(string); ok {
		return answered(text, false)
	}
	raw := suite.JSONOf(value)
	result := answered(string(raw), false)
	if len(raw) > 0 && raw[0] == '{' {
		result.Result = jsonrpc.Set(result.Result, raw, "structuredContent")
	}
	return result
}

func answered(text string, failed bool) *jsonrpc.Response {
	return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"isError":%t}`, jsonrpc.Quote(text), failed)}
}

// clip shortens a text of the model for use within a line.
func clip(text string) string {
	return i18n.Seen(probe.Clip(bytes.Join(bytes.Fields([]byte(text)), []byte(" "))))
}
