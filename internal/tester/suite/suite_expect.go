package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
)

// A judgement compares one answer with the expectations.
type judgement struct {
	runner   *SuiteRunner
	test     *Test
	x        *probe.Exchange
	problems []i18n.Text
	updated  bool
}

func (j *judgement) fail(en, zh string, args ...any) {
	j.problems = append(j.problems, i18n.New(en, zh, args...))
}

func (j *judgement) judge(ctx context.Context) {
	e := &j.test.Expect
	if !j.outcome(e) {
		return
	}
	j.limits(e)
	j.sent(e.Sent)
	j.content(e)
	j.schema(ctx, e.Schema)
	if e.Snapshot != nil {
		j.snapshot(e.Snapshot)
	}
	if got := j.runner.Answers.kinds(); len(e.Asked) > 0 && !slices.Equal(got, e.Asked) {
		j.fail("the server asked %v, expected %v", "服务器询问了 %v，应为 %v", got, e.Asked)
	}
	if j.x.Notices < e.Progress {
		j.fail("%d progress notifications, expected at least %d", "收到 %d 次进度通知，应至少 %d 次", j.x.Notices, e.Progress)
	}
}

// outcome checks success and failure; it returns false if there is nothing
// further to check.
func (j *judgement) outcome(e *Expect) bool {
	if e.Error != nil {
		if j.x.Err == nil {
			j.fail("it succeeded, expected the error %v", "调用成功，应返回错误 %v", e.Error)
			return false
		}
		want := fmt.Sprint(e.Error)
		if strconv.FormatInt(j.x.Err.Code, 10) != want && !strings.Contains(j.x.Err.Message, want) {
			j.fail("error %d %q, expected %q", "返回错误 %d %q，应为 %q", j.x.Err.Code, j.x.Err.Message, want)
		}
		j.sent(e.Sent)
		return false
	}
	if j.x.Err != nil {
		j.fail("the server answered the error %d: %s", "服务器返回错误 %d：%s", j.x.Err.Code, j.x.Err.Message)
		return false
	}
	wantFailure := e.IsError != nil && *e.IsError
	if got := j.x.IsToolError(); got != wantFailure {
		j.fail("isError is %v, expected %v: %s", "isError 为 %v，应为 %v：%s", got, wantFailure, probe.Clip([]byte(probe.TextOf(j.x.Result))))
	}
	return true
}

func (j *judgement) limits(e *Expect) {
	ms := float64(j.x.Timing.Total) / float64(time.Millisecond)
	if e.MaxMS > 0 && ms > e.MaxMS {
		j.fail("it took %.0f ms, at most %g are allowed", "耗时 %.0f ms，最多允许 %g ms", ms, e.MaxMS)
	}
	cost := catalog.CostOf(j.x.Result)
	if e.MaxBytes > 0 && cost.Bytes > e.MaxBytes {
		j.fail("the answer has %d bytes, at most %d are allowed", "应答有 %d 字节，最多允许 %d 字节", cost.Bytes, e.MaxBytes)
	}
	if e.MaxTokens > 0 && cost.Tokens > e.MaxTokens {
		j.fail("the answer has about %d tokens, at most %d are allowed", "应答约有 %d 个 token，最多允许 %d 个", cost.Tokens, e.MaxTokens)
	}
}

// value returns the value for expressions and snapshots: the structured
// content, else the JSON in the only text block, else the whole result.
func (j *judgement) value() json.RawMessage {
	if v := probe.Structured(j.x.Result); v != nil {
		return v
	}
	if blocks := probe.Blocks(j.x.Result); len(blocks) == 1 && jsonrpc.Get(j.x.Result, "content") != nil {
		text := []byte(strings.TrimSpace(blocks[0].Text))
		if jsonrpc.Valid(text) {
			return text
		}
	}
	return j.x.Result
}

func (j *judgement) content(e *Expect) {
	text := probe.TextOf(j.x.Result)
	if e.Text != nil && text != *e.Text {
		j.fail("the text is %q, expected %q", "文本为 %q，应为 %q", text, *e.Text)
	}
	for _, part := range e.Contains {
		if !strings.Contains(text, part) {
			j.fail("the text has no %q in it: %s", "文本中没有 %q：%s", part, probe.Clip([]byte(text)))
		}
	}
	for _, part := range e.NotContains {
		if strings.Contains(text, part) {
			j.fail("the text has %q in it", "文本中有 %q", part)
		}
	}
	j.holds(e.JQ, j.value())
	if e.Equals != nil {
		j.differences(i18n.New("the answer", "应答"), JSONOf(e.Equals), j.value(), nil)
	}
}

// holds requires every expression to yield true.
func (j *judgement) holds(expressions []string, value json.RawMessage) {
	for _, expression := range expressions {
		results, err := probe.JQ(expression, value)
		switch {
		case err != nil:
			j.fail("jq %s: %v", "jq %s：%v", expression, err)
		case len(results) != 1 || string(results[0]) != "true":
			j.fail("jq %s gives %s, expected true; the value is %s", "jq %s 的结果为 %s，应为 true；值为 %s", expression, joinRaw(results), probe.Clip(value))
		}
	}
}

func joinRaw(list []json.RawMessage) string {
	var parts []string
	for _, raw := range list {
		parts = append(parts, string(raw))
	}
	return probe.Clip([]byte(strings.Join(parts, " ")))
}

func (j *judgement) differences(what i18n.Text, want, got json.RawMessage, ignore []probe.Places) {
	found, err := probe.DiffJSON(want, got, ignore)
	if err != nil {
		j.fail("%v: %v", "%v：%v", what, err)
		return
	}
	for _, d := range found {
		j.fail("%v differs: %v", "%v不同：%v", what, d.Unmet())
	}
}

// sent checks the request on the wire.
func (j *judgement) sent(e *Sent) {
	if e == nil {
		return
	}
	var message json.RawMessage
	for _, f := range j.x.Wire {
		if _, kind := probe.Identify(f.Body); f.Sent && kind == jsonrpc.KindRequest {
			message = f.Body
			break
		}
	}
	value, err := probe.DecodeSide(message)
	if err != nil || message == nil {
		j.fail("what was sent is not known", "发送的内容未知")
		return
	}
	look := func(path string) []any {
		p, err := probe.ParsePlaces(path)
		if err != nil {
			j.fail("%v", "%v", err)
		}
		return p.Find(value)
	}
	for _, path := range e.Has {
		if len(look(path)) == 0 {
			j.fail("what was sent has no %s: %s", "发送的内容中没有 %s：%s", path, probe.Clip(message))
		}
	}
	for _, path := range e.NotHas {
		if len(look(path)) > 0 {
			j.fail("what was sent has %s: %s", "发送的内容中有 %s：%s", path, probe.Clip(message))
		}
	}
	for path, want := range e.Equals {
		found := look(path)
		if len(found) != 1 {
			j.fail("what was sent has %d of %s", "发送的内容中有 %d 个 %s", len(found), path)
			continue
		}
		j.differences(i18n.New("sent %s", "发送的 %s ", path), JSONOf(want), probe.Encode(found[0]), nil)
	}
}

func (j *judgement) schema(ctx context.Context, schema any) {
	var wrong []i18n.Text
	var err error
	switch s := schema.(type) {
	case nil:
		return
	case string:
		if s != "output" || j.test.Call == "" {
			j.fail("schema must be \"output\", for a call, or a JSON Schema", "schema 应为 \"output\"（用于 call），或一个 JSON Schema")
			return
		}
		var tool *catalog.Item
		if tool, err = j.tool(ctx); err == nil {
			if len(tool.OutputSchema) == 0 {
				j.fail("the tool has no output schema", "该工具没有输出 schema")
				return
			}
			wrong, err = probe.CheckOutput(tool, j.x)
		}
	default:
		wrong, err = probe.CheckJSON(JSONOf(s), j.value())
	}
	if err != nil {
		j.fail("schema: %v", "schema：%v", err)
	}
	for _, line := range wrong {
		j.fail("schema: %v", "schema：%v", line)
	}
}

func (j *judgement) tool(ctx context.Context) (*catalog.Item, error) {
	r := j.runner
	if r.tools == nil {
		l, err := r.Session.List(ctx, catalog.Tools)
		if err != nil {
			return nil, err
		}
		r.tools = l
	}
	if tool := r.tools.Find(j.test.Call); tool != nil {
		return tool, nil
	}
	return nil, i18n.Errorf("the server has no tool %q", "服务器没有工具 %q", j.test.Call)
}

func (j *judgement) snapshot(s *Snapshot) {
	var ignore []probe.Places
	for _, text := range s.Ignore {
		p, err := probe.ParsePlaces(text)
		if err != nil {
			j.fail("%v", "%v", err)
			return
		}
		ignore = append(ignore, p)
	}
	snaps := j.runner.snapshots
	before, known := snaps.values[j.test.Name]
	if !known || j.runner.Update {
		snaps.put(j.test.Name, j.value(), ignore)
		j.updated = true
		return
	}
	j.differences(i18n.New("the snapshot", "快照"), before, j.value(), ignore)
}
