// Package code runs scripts with the real binary, as a model uses run, on both
// transports and in both eras.
package code

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// A client runs scripts and returns their results.
type client struct {
	t    *testing.T
	gw   *mcptest.RawStdio
	next int
}

// settings returns the common settings of the gateways, plus more.
func settings(t *testing.T, more string) string {
	t.Helper()
	exe, err := json.Marshal(mcptest.BuildProduct(t))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{%s"mcpServers":{"demo":{"command":%s,"args":["demo"]}}}`, more, exe)
}

// start opens a session of a legacy client on stdio.
func start(t *testing.T, more, capabilities string) *client {
	t.Helper()
	c := &client{t: t, gw: mcptest.GatewayStdio(t, settings(t, more))}
	c.gw.Initialize(mcp.V2025_11_25, capabilities)
	return c
}

// send sends a call and returns its id.
func (c *client) send(tool string, arguments map[string]any, meta string) string {
	c.t.Helper()
	c.next++
	args, err := json.Marshal(arguments)
	if err != nil {
		c.t.Fatal(err)
	}
	id := fmt.Sprintf("c%d", c.next)
	c.gw.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{%s}}}`, id, tool, args, meta))
	return id
}

// A result is the result of a tool call.
type result struct {
	Content []struct {
		Type, Text, URI, MimeType, Data string
		Size                            int
	}
	IsError    bool
	Structured json.RawMessage `json:"structuredContent"`
	Meta       struct {
		Run struct{ Calls, Failed, CPUMs, WallMs, BytesKeptOut, TokensKeptOut int } `json:"mcp-all-in-one/run"`
	} `json:"_meta"`
}

func (r result) text() string {
	var all []string
	for _, b := range r.Content {
		all = append(all, b.Text)
	}
	return strings.Join(all, "\n")
}

func read(t *testing.T, m mcptest.Message) result {
	t.Helper()
	if m.Error != nil {
		t.Fatalf("the call failed: %s", m.Raw)
	}
	var r result
	if err := json.Unmarshal(m.Result, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (c *client) call(tool string, arguments map[string]any) result {
	c.t.Helper()
	return read(c.t, c.gw.Answer(fmt.Sprintf("%q", c.send(tool, arguments, ""))))
}

func (c *client) run(code string) result {
	c.t.Helper()
	return c.call("run", map[string]any{"code": code})
}

// TestValues checks the log and the value of scripts.
func TestValues(t *testing.T) {
	c := start(t, `"mode":"code",`, `{}`)
	for _, tt := range []struct{ name, code, want string }{
		{"number", `return 1 + 1`, "2"},
		{"text", `return 'a\nb'`, "a\nb"},
		{"nothing", ``, "code is required"},
		{"undefined", `1`, "undefined"},
		{"call", `return await tools.demo.add({a: 1, b: 2})`, `{"sum":3}`},
		{"text of a tool", `return await tools.demo.echo({message: 'hi'})`, "hi"},
		{"large numbers", `const n = 12345678901234567890n; console.log({n}); return {n, x: JSON.parse('1')}`, `{"n":12345678901234567890,"x":1}`},
		{"raw", `return (await call.raw('demo', 'fail', {})).isError`, "true"},
		{"ToolError", `try { await tools.demo.fail({}) } catch (e) { return [e instanceof ToolError, e.name, e.server, e.tool] }`, `[true,"ToolError","demo","fail"]`},
		{"CallError", `try { await tools.demo.nope({}) } catch (e) { return e.name + ': ' + e.message }`, "CallError: Tool 'nope' not found on server 'demo'. Available: ['echo'"},
		{"inspect by query", `return (await inspect({query: 'add numbers'})).includes('function add(')`, "true"},
		{"inspect of none", `try { await inspect({server_name: 'nope'}) } catch (e) { return e.name + ': ' + e.message }`, "CallError: Server 'nope' not found. Available: ['demo']"},
		{"inspect of nothing", `try { await inspect() } catch (e) { return e.message }`, "server_name or query is required. Available: ['demo']"},
		{"servers", `return Object.keys(tools)`, `["demo"]`},
		{"arguments", `try { await tools.demo.add({a: 1}) } catch (e) { return e.message }`, "Missing required argument: 'b'"},
		{"arguments that are no object", `try { await tools.demo.add([1]) } catch (e) { return e.message }`, "arguments must be an object"},
		{"parallel", `return (await Promise.all([...Array(20).keys()].map(i => tools.demo.add({a: i, b: 0})))).reduce((n, x) => n + x.sum, 0)`, "190"},
		{"inspect", `return await inspect({server_name: 'demo', tool_name: 'add'})`, "function add(args: {a: number; b: number}): Promise<{sum: number}>"},
		{"resource", `return (await resources.read('demo://text/2')).contents[0].text`, "This is text number 2."},
		{"prompt", `return (await prompts.get('demo', 'greeting')).messages.length`, "1"},
		{"sleep", `const t = Date.now(); await sleep(20); return Date.now() - t >= 15`, "true"},
		{"randomUUID", `return crypto.randomUUID().length`, "36"},
		{"no world", `return [typeof fetch, typeof setTimeout, typeof require, typeof process, typeof Deno, typeof std, typeof os, typeof __send].join()`, "undefined,undefined,undefined,undefined,undefined,undefined,undefined,undefined"},
		{"for await", `async function* f() { yield 1; yield 2 }; let n = 0; for await (const x of f()) n += x; return n`, "3"},
		{"unawaited failure", `tools.demo.fail({}); return 5`, "5\n1 call was not awaited when the script returned; it was waited for and failed: ToolError: this tool always fails"},
		{"log of tools", `console.log(tools, tools.demo.add); return 5`, "5\nLog:\n{\"demo\":{}} a function\n"},
		{"unawaited", `tools.demo.add({a: 1, b: 2}); return 5`, "5\n1 call was not awaited when the script returned; it was waited for."},
		{"two unawaited", `tools.demo.add({a: 1, b: 2}); tools.demo.fail({}); return 5`, "5\n2 calls were not awaited when the script returned; they were waited for, and one failed: ToolError: this tool always fails"},
		{"log", `console.log('one', 2, {three: 3n}); return 4`, "4\nLog:\none 2 {\"three\":3}"},
	} {
		t.Run("code/value "+tt.name, func(t *testing.T) {
			c.t = t
			if got := c.run(tt.code); !strings.Contains(got.text(), tt.want) {
				t.Errorf("it is %q, want %q", got.text(), tt.want)
			}
		})
	}
	t.Run("code/content", func(t *testing.T) {
		c.t = t
		r := c.run(`return [{type: 'text', text: 'a picture'}, (await call.raw('demo', 'get_image', {})).content[0]]`)
		if len(r.Content) != 2 || r.Content[1].Type != "image" {
			t.Errorf("it is %+v", r)
		}
	})
	t.Run("code/meta", func(t *testing.T) {
		c.t = t
		r := c.run(`for (let i = 0; i < 3; i++) await tools.demo.echo({message: 'x'.repeat(1000)}); try { await tools.demo.fail({}) } catch {}; return 1`)
		if m := r.Meta.Run; m.Calls != 4 || m.Failed != 1 || m.BytesKeptOut < 3000 || m.TokensKeptOut < 700 {
			t.Errorf("it is %+v", m)
		}
	})
}

// TestBadInput checks that invalid scripts are answered with a clear message.
func TestBadInput(t *testing.T) {
	c := start(t, `"mode":"code","scripts":{"cpu":"500ms"},`, `{}`)
	for _, tt := range []struct{ name, code, want string }{
		{"blank", "  \n", "code is required"},
		{"64 KB and 1", strings.Repeat(" ", 64<<10) + "1", "the code has 65537 bytes, and the most is 65536"},
		{"NUL", "return 1\x00", "NUL character"},
		{"import", "import fs from 'fs'", "cannot import: what it can use is global"},
		{"types", "const x: number = 1", "Types are TypeScript: write plain JavaScript, without \": number\""},
		{"types of parameters", "const f = (a: string) => a; return f('x')", "without \": string\""},
		{"types of results", "async function f<T>(x: T): Promise<T> { return x }", "without \"<T>\""},
		{"types of patterns", "const {a, b}: {a: number; b: number} = {}", "Types are TypeScript"},
		{"types of catch", "try { x() } catch (e: any) { return 1 }", "without \": any\""},
		{"casts", "return 1 as number", "without \"as number\""},
		{"assertions", "return (await tools.demo.add({a: 1, b: 2}))!.sum", "without \"!\""},
		{"type arguments", "const m = new Map<string, number>()", "Types are TypeScript"},
		{"interface", "interface A { a: string }\nreturn 1", "without \"interface A\""},
		{"enum", "enum E { A }", "without \"enum E\""},
		{"no types", "let x = {a: 1, a b}", "SyntaxError: expecting '}' (line 1, column 18)\n"},
		{"no types, misspelt", "retrun 1", "SyntaxError: expecting ';' (line 1, column 8)\n"},
		{"ends inside a parenthesis", "return (\n", "SyntaxError: unexpected end of the script (line 1)\n"},
		{"ends inside a block", "let a = 1\nif (a) {", "SyntaxError: unexpected end of the script (line 2)\n"},
		{"ends inside a call", "return f(1", "SyntaxError: unexpected end of the script (line 1)\n"},
		{"a brace too many", "return 1 }", "SyntaxError: a '}' has no '{'\n"},
		{"dynamic import", "await import('fs')", "cannot import: what it can use is global"},
		{"require", "require('fs')", "cannot import: what it can use is global"},
		{"fetch", "return fetch('http://x')", "'fetch' is not defined (line 1, column 8). A script has no network, files, environment or timers: it calls tools, and waits with sleep(ms)"},
		{"timers", "setTimeout(() => 1, 1)", "waits with sleep(ms)"},
		{"endless sleep", "await sleep(Infinity)", "sleep takes milliseconds"},
		{"map", "return new Map([[1, 2]])", "a Map, of which JSON shows nothing"},
		{"error", "try { nothing() } catch (e) { return e }", "a ReferenceError, of which JSON shows nothing"},
		{"iterator", "return (async function* () { yield 1 })()", "of which JSON shows nothing"},
		{"tools as a value", "return tools.demo", "of which JSON shows nothing"},
		{"function", "return () => 1", "a script returns data, and this is a function"},
		{"cycle", "const a = {}; a.a = a; return a", "circular reference"},
		{"getter that loops", "return {get x() { while (true) {} }}", "out of processor time: a script may compute for 500ms"},
		{"Object.prototype.then", "Object.prototype.then = function () {}; return {a: 1}", "waits for nothing"},
		{"never settled", "await new Promise(() => {})", "waits for nothing"},
		{"101 calls", "for (let i = 0; i < 101; i++) await tools.demo.add({a: 1, b: 1})", "call 101: a script may make 100 calls"},
		{"unknown server", "await tools.nobody.x({})", "Server 'nobody' not found. Available: ['demo']"},
		{"place", "const a = 1;\nawait tools.demo.add({a, b: 1});\n  nothing.here()", "ReferenceError: 'nothing' is not defined (line 3, column 3)\nCalls that had succeeded, and must not be repeated if they changed something: demo.add"},
		{"thrown text", "throw 'text'", "Thrown: text"},
		{"no such result", "await kept('result://0123456789abcdef0123456789abcdef')", "no such result"},
		{"malformed result", "await kept('result://x')", "is not a result:// URI"},
		{"ask nobody", "await ask('what?', {type: 'object'})", "the client does not offer this"},
	} {
		t.Run("code/bad "+tt.name, func(t *testing.T) {
			c.t = t
			if got := c.run(tt.code); !got.IsError || !strings.Contains(got.text(), tt.want) {
				t.Errorf("it is %q, want %q", got.text(), tt.want)
			}
		})
	}
	t.Run("code/bad long error", func(t *testing.T) {
		c.t = t
		for _, code := range []string{"throw new Error('x'.repeat(1e6))", "throw 'x'.repeat(1e6)", "const e = new Error('x'); e.name = 'x'.repeat(1e6); throw e", "await tools.demo['x'.repeat(1e6)]({})",
			"await tools['x'.repeat(1e6)].x({})", "tools.demo['x'.repeat(1e6)]({}); return 1"} {
			if r := c.run(code); len(r.text()) > 10<<10 || !strings.Contains(r.text(), "xxx") {
				t.Errorf("%s: %d bytes: %.200s", code, len(r.text()), r.text())
			}
		}
	})
	t.Run("code/bad long blocks", func(t *testing.T) {
		c.t = t
		for _, code := range []string{"return {type: 'text', text: 'x'.repeat(1e6)}", "return [{type: 'text', text: 'x'.repeat(9000)}, {type: 'text', text: 'y'}]",
			"return Array.from({length: 5000}, () => ({type: 'text', text: 'x'}))", "return {type: 'resource', resource: {uri: 'a:b', text: 'x'.repeat(1e6)}}"} {
			if r := c.run(code); len(r.text()) > 10<<10 || !strings.Contains(r.text(), "result://") {
				t.Errorf("%s: %d bytes: %.200s", code, len(r.text()), r.text())
			}
		}
	})
	t.Run("code/bad overwritten", func(t *testing.T) {
		c.t = t
		r := c.run(`JSON.parse = JSON.stringify = () => '"forged"'; Promise.prototype.then = null; globalThis.Promise = 1; Array.prototype.push = null; return await tools.demo.add({a: 1, b: 2})`)
		if r.text() != `{"sum":3}` {
			t.Errorf("it is %q", r.text())
		}
	})
	t.Run("code/bad timeout_seconds", func(t *testing.T) {
		c.t = t
		if r := c.call("run", map[string]any{"code": "await sleep(60000)", "timeout_seconds": 0.2}); !strings.Contains(r.text(), "out of time: a script may run for 200ms") {
			t.Errorf("it is %q", r.text())
		}
		if r := c.call("run", map[string]any{"code": "1", "timeout_seconds": "x"}); !strings.Contains(r.text(), "must be a number") {
			t.Errorf("it is %q", r.text())
		}
	})
}

// TestQuestions checks that questions of a server and of a script reach the
// client on the stream of the call, two at once.
func TestQuestions(t *testing.T) {
	const code = `const all = await Promise.all([tools.demo.ask_name({}), tools.demo.ask_name({})]); return [...all, (await ask('Which?', {type: 'object', properties: {x: {type: 'string'}}})).x]`
	t.Run("code/question legacy stdio", func(t *testing.T) {
		c := start(t, `"mode":"code",`, `{"elicitation":{}}`)
		id := c.send("run", map[string]any{"code": code}, "")
		for _, answer := range []string{`{"name":"Ada"}`, `{"name":"Bob"}`, `{"x":"this"}`} {
			q := c.gw.Request(mcp.MethodElicit)
			c.gw.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":%s}}`, q.ID, answer))
		}
		text := read(t, c.gw.Answer(fmt.Sprintf("%q", id))).text()
		if !strings.Contains(text, "Ada") || !strings.Contains(text, "Bob") || !strings.Contains(text, `"this"`) {
			t.Errorf("it is %s", text)
		}
	})
	t.Run("code/question declined", func(t *testing.T) {
		c := start(t, `"mode":"code",`, `{"elicitation":{}}`)
		id := c.send("run", map[string]any{"code": `try { await ask('Which?', {type: 'object', properties: {}}) } catch (e) { return e.name }`}, "")
		q := c.gw.Request(mcp.MethodElicit)
		c.gw.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, q.ID))
		if text := read(t, c.gw.Answer(fmt.Sprintf("%q", id))).text(); text != "Declined" {
			t.Errorf("it is %s", text)
		}
	})
	t.Run("code/question modern HTTP", func(t *testing.T) {
		gw := mcptest.Gateway(t, settings(t, `"mode":"code",`))
		h := mcptest.NewRawHTTP(t, gw.URL+"/mcp")
		h.Header.Set("Mcp-Protocol-Version", mcp.V2026_07_28)
		h.Header.Set("Mcp-Method", mcp.MethodToolsCall)
		h.Header.Set("Mcp-Name", "run")
		ask := func(code, more string) mcptest.Message {
			args, err := json.Marshal(map[string]any{"code": code})
			if err != nil {
				t.Fatal(err)
			}
			return h.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":%s%s,"_meta":{%q:%q,%q:{"elicitation":{}},%q:{"name":"t","version":"1"}}}}`,
				args, more, mcp.MetaVersion, mcp.V2026_07_28, mcp.MetaCapabilities, mcp.MetaClientInfo)).Answer(t)
		}
		more := ""
		for round := 0; ; round++ {
			m := ask(code, more)
			var r struct {
				ResultType    string
				RequestState  string
				InputRequests map[string]struct {
					Params struct{ Message string }
				}
				Content []struct{ Text string }
			}
			if m.Error != nil || json.Unmarshal(m.Result, &r) != nil {
				t.Fatal(m.Raw)
			}
			if r.ResultType != "input_required" {
				if len(r.Content) == 0 || strings.Count(r.Content[0].Text, "Hello, Ada!") != 2 || !strings.Contains(r.Content[0].Text, `"this"`) {
					t.Errorf("it is %s", m.Raw)
				}
				break
			}
			if round > 5 {
				t.Fatal("it asks for ever")
			}
			state, err := json.Marshal(r.RequestState)
			if err != nil {
				t.Fatal(err)
			}
			if wrong := ask(code+";", fmt.Sprintf(`,"requestState":%s`, state)); wrong.Error == nil || !strings.Contains(wrong.Raw, "requestState is not valid") {
				t.Errorf("other code resumes it: %s", wrong.Raw)
			}
			answers := map[string]any{}
			for key, q := range r.InputRequests {
				content := map[string]string{"name": "Ada"}
				if strings.Contains(q.Params.Message, "Which?") {
					content = map[string]string{"x": "this"}
				}
				answers[key] = map[string]any{"action": "accept", "content": content}
			}
			said, err := json.Marshal(answers)
			if err != nil {
				t.Fatal(err)
			}
			more = fmt.Sprintf(`,"requestState":%s,"inputResponses":%s`, state, said)
		}
	})
}

// TestProgressAndCancel checks that progress counts up by one, and that a
// cancelled script ends with its calls.
func TestProgressAndCancel(t *testing.T) {
	c := start(t, `"mode":"code",`, `{}`)
	t.Run("code/progress", func(t *testing.T) {
		id := c.send("run", map[string]any{"code": `await tools.demo.long_task({seconds: 0.1, steps: 2}); await tools.demo.add({a: 1, b: 1}); return 1`}, `"progressToken":"mine"`)
		for n := 1; n <= 3; n++ {
			var p struct {
				ProgressToken string
				Progress      int
				Message       string
			}
			m := c.gw.Notification(mcp.NotificationProgress)
			if err := json.Unmarshal(m.Params, &p); err != nil || p.ProgressToken != "mine" || p.Progress != n || p.Message == "" {
				t.Errorf("progress %d is %s", n, m.Raw)
			}
		}
		if text := read(t, c.gw.Answer(fmt.Sprintf("%q", id))).text(); text != "1" {
			t.Errorf("it is %s", text)
		}
	})
	t.Run("code/cancel", func(t *testing.T) {
		id := c.send("run", map[string]any{"code": `await Promise.all([tools.demo.long_task({seconds: 60, steps: 600}), sleep(60000)])`}, `"progressToken":"p"`)
		c.gw.Notification(mcp.NotificationProgress) // the call runs
		c.gw.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%q}}`, id))
		if text := c.run(`return 'next'`).text(); text != "next" {
			t.Errorf("the next script: %s", text)
		}
		for _, m := range c.gw.Unclaimed() {
			if strings.Contains(m, fmt.Sprintf("%q", id)) {
				t.Errorf("a cancelled script is answered: %s", m)
			}
		}
	})
}

// TestShown checks the modes in which run is listed, and the cost of its
// definition.
func TestShown(t *testing.T) {
	for _, tt := range []struct{ name, more, want string }{
		{"code", `"mode":"code",`, "inspect exec run read"},
		{"compact", `"mode":"compact",`, "inspect exec"},
		{"compact with code", `"mode":"compact","code":true,`, "inspect exec run read"},
		{"search with code", `"mode":"search","code":true,`, "inspect exec run read"},
		{"compact with results", `"mode":"compact","results":{"limit":"4KB"},`, "inspect exec read"},
	} {
		t.Run("code/shown "+tt.name, func(t *testing.T) {
			c := start(t, tt.more, `{}`)
			m := c.gw.Ask(`{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)
			var list struct{ Tools []struct{ Name string } }
			if err := json.Unmarshal(m.Result, &list); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("the tools are %s, want %s", got, tt.want)
			}
		})
	}
}
