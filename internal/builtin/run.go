package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/script"
)

// RunName is the name of the tool that runs a script.
const RunName = "run"

// ExecName is the name of the tool that calls one tool.
const ExecName = "exec"

// ScriptName is the tool run for the command line and for test files, in any
// mode. It has additional arguments that a model does not need: args, seed, at,
// lang.
const ScriptName = mcp.ScriptTool

// ScriptTool is the tool named ScriptName.
var ScriptTool = Tool{Name: ScriptName, Compact: true, Script: true, Run: func(ctx context.Context, env *Env, args []byte) (*jsonrpc.Response, error) {
	env.Limits.Output = script.MaxValue
	lang, _ := jsonrpc.GetString(args, "lang")
	env.Lang = i18n.ByTag(lang)
	env.Job = func(job *script.Job) {
		job.Args = jsonrpc.Get(args, "args")
		if raw := jsonrpc.Get(args, "seed"); json.Unmarshal(raw, &job.Seed) != nil {
			job.Seed = 0
		}
		if at, ok := jsonrpc.GetString(args, "at"); ok {
			job.At, _ = time.Parse(time.RFC3339, at) // with the zero time the clock runs
		}
	}
	return compact{code: true}.run(ctx, env, args)
}}

// MetaRun is the member of _meta in which run reports the resources a script
// used.
const MetaRun = "mcp-all-in-one/run"

func (c compact) runTool() Tool {
	const definition = `{"name":"run","description":"Run JavaScript (ES2023, async) that calls tools. Return what you need; only that and console.log come back.\n` +
		`tools.SERVER.TOOL(args) calls a tool and gives its value; call.raw(server, tool, args) the whole result; inspect({server_name, tool_name}) the declarations. ` +
		`Also resources.read(uri), prompts.get(server, name, args), kept(uri), ask(message, schema), sleep(ms). Await every call; Promise.all runs several at once. ` +
		`Errors can be caught: ToolError, CallError. No fetch, import, files or timers.\n` +
		`Example: const {entities} = await tools.memory.read_graph({}); return entities.filter(e => e.entityType === 'person').length",` +
		`"inputSchema":{"type":"object","properties":{"code":{"type":"string","description":"Body of an async function"},` +
		`"timeout_seconds":{"type":"number","description":"Lowers the time limit"}},"required":["code"]},` +
		`"execution":{"taskSupport":"optional"},"_meta":{"anthropic/maxResultSizeChars":500000}}`
	return Tool{Name: RunName, Definition: []byte(definition), Script: true, Run: c.run}
}

// run runs a script.
func (c compact) run(ctx context.Context, env *Env, args []byte) (*jsonrpc.Response, error) {
	job, refused := readJob(env, args)
	if !refused.Empty() {
		return plainFailure(refused.In(env.Lang)), nil
	}
	return c.runJob(ctx, env, job)
}

// Stored is the tool that runs a script of the configuration. Its arguments are
// what the script calls args.
func Stored(name string, s config.Script) *Tool {
	return &Tool{Name: name, Compact: true, Script: true, Code: s.Code, Run: func(ctx context.Context, env *Env, args []byte) (*jsonrpc.Response, error) {
		job := &script.Job{Code: s.Code, Limits: env.Limits.Or(script.Defaults), Args: jsonrpc.AsObject(args)}
		if env.Inner {
			job.Limits.Output = script.MaxValue
		}
		if s.Timeout > 0 {
			job.Limits.Timeout = s.Timeout
		}
		return compact{code: true}.runJob(ctx, env, job)
	}}
}

func (c compact) runJob(ctx context.Context, env *Env, job *script.Job) (*jsonrpc.Response, error) {
	r := &running{env: env, compact: c, limits: job.Limits, slots: make(chan struct{}, job.Limits.Parallel), began: time.Now()}
	job.Servers = serverNames(env, catalog.View{Visible: env.Visible})
	outcome, err := env.Script(ctx, job, r)
	if err != nil {
		return nil, err
	}
	return r.result(job, outcome), nil
}

// readJob parses the arguments of run, and returns what is wrong with them.
func readJob(env *Env, args []byte) (*script.Job, i18n.Text) {
	code, isText := jsonrpc.GetString(args, "code")
	limits := env.Limits.Or(script.Defaults)
	switch {
	case !isText || strings.TrimSpace(code) == "":
		return nil, i18n.New("code is required: the body of an async function, as text", "缺少 code：应为 async 函数的函数体文本")
	case int64(len(code)) > limits.Code:
		return nil, i18n.New("the code has %d bytes, and the most is %d", "代码有 %d 字节，最多为 %d 字节", len(code), limits.Code)
	case strings.ContainsRune(code, 0):
		return nil, i18n.New("the code has a NUL character", "代码中含有 NUL 字符")
	}
	if raw := jsonrpc.Get(args, "timeout_seconds"); raw != nil {
		var seconds float64
		if json.Unmarshal(raw, &seconds) != nil || !(seconds > 0) {
			return nil, i18n.New("timeout_seconds must be a number above 0", "timeout_seconds 必须是大于 0 的数")
		}
		limits.Timeout = min(limits.Timeout, time.Duration(math.Min(seconds, 1e9)*float64(time.Second)))
	}
	job := &script.Job{Code: code, Limits: limits}
	if env.Job != nil {
		env.Job(job)
	}
	return job, i18n.Text{}
}

// result returns the tool result of a script.
func (r *running) result(job *script.Job, o *script.Outcome) *jsonrpc.Response {
	var blocks [][]byte
	failed := o.Fault != nil
	if failed {
		blocks = append(blocks, textBlock(r.failure(job, o)))
	} else {
		blocks = r.valueBlocks(job, o.Value)
	}
	values := len(blocks)
	if log := r.logged(o); log != "" && !r.env.Inner {
		blocks = append(blocks, textBlock(r.say("Log:", "日志：")+"\n"+log))
	}
	if o.Unawaited > 0 && !r.env.Inner {
		blocks = append(blocks, textBlock(r.unawaited(o)))
	}
	result := []byte(`{"content":[`)
	for i, b := range blocks {
		if i > 0 {
			result = append(result, ',')
		}
		result = append(result, b...)
	}
	result = fmt.Appendf(result, `],"isError":%t}`, failed)
	return &jsonrpc.Response{Result: jsonrpc.Set(result, r.meta(o, blocks, values), "_meta", MetaRun)}
}

// unawaited describes the calls that the script did not await.
func (r *running) unawaited(o *script.Outcome) string {
	text := r.say("%d calls were not awaited when the script returned; they were waited for", "脚本返回时有 %d 个调用未被 await；已等待其完成", o.Unawaited)
	failed := r.say(", and one failed", "，其中有调用失败")
	if o.Unawaited == 1 {
		text = r.say("1 call was not awaited when the script returned; it was waited for", "脚本返回时有 1 个调用未被 await；已等待其完成")
		failed = r.say(" and failed", "，但失败了")
	}
	if o.Lost == "" {
		return text + r.say(".", "。")
	}
	return text + failed + r.say(": ", "：") + clipText(o.Lost, maxName)
}

func textBlock(text string) []byte {
	return fmt.Appendf(nil, `{"type":"text","text":%s}`, jsonrpc.Quote(text))
}

// failure describes the error that ended a script, and the calls before it.
func (r *running) failure(job *script.Job, o *script.Outcome) string {
	fault := o.Fault.Explain(job.Code)
	fault.Name = clipText(fault.Name, maxName)
	fault.Message = r.fit([]byte(fault.Message), job.Limits.Output)
	text := fault.Sentence(job.Limits).In(r.env.Lang) + "\n"
	if done := r.named(callDone); done != "" {
		text += r.say("Calls that had succeeded, and must not be repeated if they changed something: %s", "此前已成功的调用，若有改动请勿重复：%s", done)
	} else {
		text += r.say("No call had succeeded.", "此前没有成功的调用。")
	}
	if unknown := r.named(callUnknown, callRuns); unknown != "" {
		text += "\n" + r.say("Calls of which it is not known whether they ran: %s", "不确定是否已执行的调用：%s", unknown)
	}
	return text
}

// maxName is the maximum size of the name of an error.
const maxName = 500

// say returns a text in the user's language.
func (r *running) say(en, zh string, args ...any) string {
	return i18n.New(en, zh, args...).In(r.env.Lang)
}

// valueBlocks returns the value of a script: content blocks unchanged, a string
// as text, anything else as JSON.
func (r *running) valueBlocks(job *script.Job, value []byte) [][]byte {
	if blocks := contentOf(value); blocks != nil {
		return r.shorten(blocks, job.Limits.Output)
	}
	text := value
	if s, ok := jsonrpc.Text(value); ok && len(value) > 0 {
		text = []byte(s)
	}
	if value == nil {
		return [][]byte{textBlock("undefined")}
	}
	return [][]byte{textBlock(r.fit(text, job.Limits.Output))}
}

// shorten replaces the texts among the blocks of a value by a part of them if
// they are larger than limit together. The other blocks stay: a model does not
// read them as text.
func (r *running) shorten(blocks [][]byte, limit int64) [][]byte {
	var texts []string
	var size int64
	others := blocks[:0:0]
	for _, b := range blocks {
		text, ok := jsonrpc.GetString(b, "text")
		if !ok {
			text, ok = jsonrpc.GetString(b, "resource", "text")
		}
		if !ok {
			others = append(others, b)
			continue
		}
		texts = append(texts, text)
		size += int64(len(b))
	}
	if size <= limit+int64(len(textBlock(""))) {
		return blocks
	}
	return append([][]byte{textBlock(r.fit([]byte(strings.Join(texts, "\n")), limit))}, others...)
}

// fit returns a text, or its beginning and its end if it is larger than limit;
// then the whole text is stored.
func (r *running) fit(text []byte, limit int64) string {
	if int64(len(text)) <= limit {
		return string(text)
	}
	head, tail, left := kept.HeadTail(text, limit*2/3, limit/3)
	uri, err := r.env.Keep(text)
	if err != nil {
		return string(head) + "\n" + r.say("… %d of %d bytes left out, and they could not be kept: %v", "… 省略了 %d 字节（共 %d 字节），且无法保留：%v", left, len(text), err) + "\n" + string(tail)
	}
	return string(head) + kept.Marker(left, int64(len(text)), kept.Shape(text), uri, ReadName) + string(tail)
}

// contentOf returns the content blocks that a script returned; nil if it
// returned anything else.
func contentOf(value []byte) [][]byte {
	if isContent(value) {
		return [][]byte{value}
	}
	if len(value) == 0 || value[0] != '[' {
		return nil
	}
	var blocks [][]byte
	for e := range jsonrpc.Elements(value) {
		if !isContent(e) {
			return nil
		}
		blocks = append(blocks, e)
	}
	return blocks
}

// isContent reports whether a value is a complete content block.
func isContent(value []byte) bool {
	if len(value) == 0 || value[0] != '{' {
		return false
	}
	has := func(members ...string) bool {
		for _, m := range members {
			if text, ok := jsonrpc.GetString(value, m); !ok || text == "" && m != "text" {
				return false
			}
		}
		return true
	}
	kind, _ := jsonrpc.GetString(value, "type")
	switch kind {
	case "text":
		return has("text")
	case "image", "audio":
		return has("data", "mimeType")
	case "resource_link":
		return has("uri", "name")
	case "resource":
		inner := jsonrpc.Get(value, "resource")
		return len(inner) > 0 && inner[0] == '{' && jsonrpc.Get(inner, "uri") != nil
	}
	return false
}

// meta returns the resources a script used, and how much it kept out of the
// context. The first values blocks are the script's value; the rest are about
// the run.
func (r *running) meta(o *script.Outcome, blocks [][]byte, values int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var shown catalog.Cost
	for _, b := range blocks {
		cost := catalog.CostOf(b)
		shown.Bytes += cost.Bytes
		shown.Tokens += cost.Tokens
	}
	failed := 0
	for _, c := range r.calls {
		if c.state == callFailed {
			failed++
		}
	}
	if r.env.Saved != nil {
		r.env.Saved(len(r.calls), r.inner, shown)
	}
	return fmt.Appendf(nil, `{"values":%d,"calls":%d,"failed":%d,"cpuMs":%d,"wallMs":%d,"bytesKeptOut":%d,"tokensKeptOut":%d}`,
		values, len(r.calls), failed, o.CPU.Milliseconds(), time.Since(r.began).Milliseconds(),
		max(0, r.inner.Bytes-shown.Bytes), max(0, r.inner.Tokens-shown.Tokens))
}

// logged returns the beginning and the end of a script's log.
func (r *running) logged(o *script.Outcome) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	head := clipText(r.log.String(), r.limits.Log/2)
	tail := o.Tail
	if over := int64(len(tail)) - r.limits.Log/2; over > 0 {
		tail = strings.ToValidUTF8(tail[over:], "")
	}
	if left := o.LogBytes - int64(len(head)+len(tail)); left > 0 {
		return head + r.say("… %d bytes of the log left out …", "… 日志省略了 %d 字节 …", left) + "\n" + tail
	}
	return head + tail
}

func clipText(s string, limit int64) string {
	if int64(len(s)) > limit {
		return strings.ToValidUTF8(s[:limit], "")
	}
	return s
}

// wireOf returns the gateway's error in err; nil if there is none.
func wireOf(err error) *jsonrpc.Error {
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return wire
	}
	return nil
}
