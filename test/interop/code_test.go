package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// A coded is one call of a client, and its result.
type coded struct {
	Result struct {
		Content []struct{ Type, Text string }
		IsError bool
	}
	Progress []string
}

func (c coded) text() string {
	if len(c.Result.Content) == 0 {
		return ""
	}
	return c.Result.Content[0].Text
}

// runs makes calls with a published client.
func runs(t *testing.T, program []string, calls []map[string]any) []coded {
	t.Helper()
	input, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 120*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME=")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &logWriter{t}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the client: %v\n%s", err, out)
	}
	var all []coded
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("%v: %.500s", err, out)
	}
	return all
}

// official returns the commands of the official clients.
func official(t *testing.T) map[string][]string {
	client, err := filepath.Abs(filepath.Join("scripts", "code_client.py"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]string{"TypeScript": {node(t), script(t, "code.mjs")}, "Python": {filepath.Join(cache, "python", "bin", "python"), client}}
}

// overBoth runs a test with clients, in both eras and on both transports; program
// is the command of the client.
func overBoth(t *testing.T, what string, clients map[string][]string, servers func(*testing.T) string, test func(t *testing.T, program []string)) {
	for name, program := range clients {
		for _, era := range []string{"legacy", "modern"} {
			for _, kind := range []string{"http", "stdio"} {
				t.Run(fmt.Sprintf("%s %s %s %s", what, name, era, kind), func(t *testing.T) {
					program := append(slices.Clone(program), era, kind)
					if kind == "http" {
						program = append(program, mcptest.Gateway(t, servers(t)).URL+"/mcp")
					} else {
						program = append(program, mcptest.BuildProduct(t), "stdio", "--mcp-config", mcptest.WriteConfig(t, servers(t)))
					}
					test(t, program)
				})
			}
		}
	}
}

// TestCode uses the published servers in a script, with the official clients,
// in both eras and on both transports.
func TestCode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var text strings.Builder
	for i := 0; text.Len() < 5<<20; i++ {
		fmt.Fprintf(&text, "line %d: %s\n", i, strings.Repeat("x", i%90))
	}
	large := filepath.Join(dir, "large.txt")
	if err := os.WriteFile(large, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := strings.Count(text.String(), "\n")
	servers := func(t *testing.T) string {
		c := config(
			"everything", entry(node(t), npmServer("server-everything")),
			"files", entry(node(t), npmServer("server-filesystem"), dir),
			"memory", fmt.Sprintf(`{"command":%q,"args":[%q],"env":{"MEMORY_FILE_PATH":%q}}`,
				node(t), npmServer("server-memory"), filepath.Join(t.TempDir(), "memory.json")))
		return strings.Replace(c, "{", `{"mode":"code",`, 1)
	}
	run := func(code string) map[string]any {
		return map[string]any{"tool": "run", "arguments": map[string]any{"code": code}}
	}
	calls := []map[string]any{
		run(`return await tools.everything.get_sum({a: 19, b: 23})`),
		run(`const t = (await tools.files.read_text_file({path: ` + fmt.Sprintf("%q", large) + `})).content; return t.split('\n').length - 1`),
		run(`await tools.memory.create_entities({entities: Array.from({length: 100}, (_, i) => ({name: 'e' + i, entityType: i % 4 ? 'person' : 'place', observations: ['seen ' + i]}))});
			const {entities} = await tools.memory.read_graph({}); return entities.filter(e => e.entityType === 'person').length`),
		run(`return await tools.everything.trigger_long_running_operation({duration: 1, steps: 3})`),
		run(`const x = await Promise.all([1, 2, 3, 4, 5].map(i => tools.everything.get_sum({a: i, b: i}))); return x.length`),
	}
	cancelled := run(`return await tools.everything.trigger_long_running_operation({duration: 60, steps: 60})`)
	cancelled["cancel"] = true
	calls = append(calls, cancelled, calls[0])
	overBoth(t, "code/published", official(t), servers, func(t *testing.T, program []string) {
		got := runs(t, program, calls)
		for i, want := range []string{"42", fmt.Sprint(lines), "75", "Long running operation completed", "5", "cancelled: ", "42"} {
			if !strings.Contains(got[i].text(), want) || got[i].Result.IsError != strings.HasPrefix(want, "cancelled") {
				t.Errorf("call %d is %+v, want %s", i, got[i], want)
			}
		}
		if len(got[3].Progress) == 0 {
			t.Errorf("no progress was heard: %+v", got[3])
		}
	})
}

// TestCodeTree checks that a script turns a directory tree of 10 MB of the
// published server into one line, with the default limits of scripts.
func TestCodeTree(t *testing.T) {
	t.Parallel()
	t.Run("code/published tree of 10 MB", func(t *testing.T) {
		dir := t.TempDir()
		const files, folders = 40_000, 40
		for i := range files {
			folder := filepath.Join(dir, fmt.Sprint(i%folders))
			if i < folders {
				if err := os.Mkdir(folder, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%05d-%s.txt", i, strings.Repeat("report-", 32))), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		servers := strings.Replace(config("files", entry(node(t), npmServer("server-filesystem"), dir)), "{", `{"mode":"code","limits":{"serverMessage":"64MB"},`, 1)
		code := fmt.Sprintf(`const text = (await tools.files.directory_tree({path: %q})).content;
			return [text.length > 1e7, JSON.parse(text).flatMap(d => d.children).filter(f => f.type === 'file').length]`, dir)
		program := append(slices.Clone(official(t)["TypeScript"]), "modern", "http", mcptest.Gateway(t, servers).URL+"/mcp")
		got := runs(t, program, []map[string]any{{"tool": "run", "arguments": map[string]any{"code": code}}})
		if want := fmt.Sprintf("[true,%d]", files); got[0].text() != want {
			t.Errorf("it is %.500s, want %s", got[0].text(), want)
		}
	})
}

// TestKept checks that the official TypeScript clients, which validate results,
// get a large result of a published server in part and read all of it by lines.
func TestKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var text strings.Builder
	for i := 0; text.Len() < 5<<20; i++ {
		fmt.Fprintf(&text, "line %d: %s\n", i, strings.Repeat("é", i%90))
	}
	large := filepath.Join(dir, "large.txt")
	if err := os.WriteFile(large, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	servers := func(t *testing.T) string {
		return strings.Replace(config("files", entry(node(t), npmServer("server-filesystem"), dir)), "{", `{"results":{"limit":"256KB"},`, 1)
	}
	clients := official(t)
	delete(clients, "Python") // it does not read on by itself
	overBoth(t, "kept/published", clients, servers, func(t *testing.T, program []string) {
		got := runs(t, program, []map[string]any{
			{"tool": "files__read_text_file", "arguments": map[string]any{"path": large}},
			{"tool": "read_result", "arguments": map[string]any{"lines": "1-"}, "all": true},
		})
		if shown := got[0].text(); got[0].Result.IsError || len(shown) > 256<<10 || !strings.Contains(shown, "Whole text: result://") {
			t.Errorf("%d bytes are shown: %.300s", len(shown), shown)
		}
		if whole := got[1].text(); whole != text.String() {
			t.Errorf("read returned %d bytes of %d: %.300s", len(whole), text.Len(), whole)
		}
	})
}

// TestCodeCost does the same tasks with exec and with run, and compares what
// enters the context of a model. docs/compact.md has the figures of one run.
func TestCodeCost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 40 {
		body := strings.Repeat(fmt.Sprintf("2026-11-%02d level=info request %d took 12 ms\n", i%28+1, i), 50) + strings.Repeat("level=error it failed\n", i%3)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("day%02d.log", i)), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	servers := strings.Replace(config(
		"everything", entry(node(t), npmServer("server-everything")),
		"files", entry(node(t), npmServer("server-filesystem"), dir),
		"memory", fmt.Sprintf(`{"command":%q,"args":[%q],"env":{"MEMORY_FILE_PATH":%q}}`,
			node(t), npmServer("server-memory"), filepath.Join(t.TempDir(), "memory.json"))), "{", `{"mode":"code",`, 1)
	url := mcptest.Gateway(t, servers).URL + "/mcp"
	exec := func(server, tool string, arguments map[string]any) map[string]any {
		return map[string]any{"tool": "exec", "arguments": map[string]any{"server_name": server, "tool_name": tool, "arguments": arguments}}
	}
	run := func(code string) []map[string]any {
		return []map[string]any{{"tool": "run", "arguments": map[string]any{"code": code}}}
	}
	logs := []map[string]any{exec("files", "list_directory", map[string]any{"path": dir})}
	for i := range 40 {
		logs = append(logs, exec("files", "read_text_file", map[string]any{"path": filepath.Join(dir, fmt.Sprintf("day%02d.log", i))}))
	}
	var entities []any
	for i := range 100 {
		entities = append(entities, map[string]any{"name": fmt.Sprintf("e%d", i), "entityType": []string{"person", "place"}[i%2], "observations": []string{fmt.Sprintf("seen %d", i)}})
	}
	sums := []map[string]any{}
	for i := range 20 {
		sums = append(sums, exec("everything", "get-sum", map[string]any{"a": i, "b": 1}))
	}
	for _, task := range []struct {
		name string
		exec []map[string]any
		run  []map[string]any
		want string
		less int // how many times fewer tokens
	}{
		{"errors in 40 log files", logs, run(fmt.Sprintf(`const dir = %q; let n = 0;
for (const line of (await tools.files.list_directory({path: dir})).content.split('\n'))
  n += (await tools.files.read_text_file({path: dir + '/' + line.replace('[FILE] ', '')})).content.split('level=error').length - 1;
return n`, dir)), "39", 20},
		{"100 entities, then how many are people", []map[string]any{exec("memory", "create_entities", map[string]any{"entities": entities}), exec("memory", "read_graph", nil)},
			run(`await tools.memory.create_entities({entities: Array.from({length: 100}, (_, i) => ({name: 'x' + i, entityType: ['person', 'place'][i % 2], observations: ['seen ' + i]}))});
return (await tools.memory.read_graph({})).entities.filter(e => e.entityType === 'person' && e.name[0] === 'x').length`), "50", 20},
		{"20 sums", sums, run(`const all = await Promise.all([...Array(20).keys()].map(a => tools.everything.get_sum({a, b: 1})));
return all.reduce((n, text) => n + Number(text.match(/is (\d+)/)[1]), 0)`), "210", 5},
	} {
		t.Run("code/cost "+task.name, func(t *testing.T) {
			program := []string{node(t), script(t, "code.mjs"), "legacy", "http", url}
			cost := func(calls []map[string]any) (tokens int, last string) {
				got := runs(t, program, calls)
				for i, c := range got {
					in, err := json.Marshal(calls[i])
					if err != nil {
						t.Fatal(err)
					}
					out, err := json.Marshal(c.Result)
					if err != nil {
						t.Fatal(err)
					}
					tokens += catalog.CostOf(in).Tokens + catalog.CostOf(out).Tokens
				}
				return tokens, got[len(got)-1].text()
			}
			before, _ := cost(task.exec)
			after, said := cost(task.run)
			t.Logf("%s: exec %d calls, %d tokens; run 1 call, %d tokens", task.name, len(task.exec), before, after)
			if said != task.want || after*task.less > before {
				t.Errorf("run says %q, want %q; %d tokens instead of %d", said, task.want, after, before)
			}
		})
	}
}

// asking makes the published server ask a person and a model at once, inside a
// script.
const asking = `const all = await Promise.all([tools.everything.trigger_elicitation_request({}), tools.everything.trigger_elicitation_request({}),
	tools.everything.trigger_sampling_request({prompt: 'why', maxTokens: 10})]); return JSON.stringify(all)`

// TestCodeQuestions checks that questions of the published server inside a
// script reach the official clients, also several at once.
func TestCodeQuestions(t *testing.T) {
	t.Parallel()
	servers := strings.Replace(config("everything", entry(node(t), npmServer("server-everything"))), "{", `{"mode":"code",`, 1)
	overBoth(t, "code/question published", official(t), func(*testing.T) string { return servers }, func(t *testing.T, program []string) {
		answered(t, runs(t, program, []map[string]any{{"tool": "run", "arguments": map[string]any{"code": asking}}})[0].text())
	})
	t.Run("code/question published modern", func(t *testing.T) {
		h := mcptest.NewRawHTTP(t, mcptest.Gateway(t, servers).URL+"/mcp")
		h.Header.Set("Mcp-Protocol-Version", mcp.V2026_07_28)
		h.Header.Set("Mcp-Method", mcp.MethodToolsCall)
		h.Header.Set("Mcp-Name", "run")
		params := map[string]any{"name": "run", "arguments": map[string]any{"code": asking}, "_meta": map[string]any{
			mcp.MetaVersion: mcp.V2026_07_28, mcp.MetaCapabilities: map[string]any{"elicitation": map[string]any{}, "sampling": map[string]any{}},
			mcp.MetaClientInfo: map[string]string{"name": "t", "version": "1"},
		}}
		rounds := 0
		for {
			raw, err := json.Marshal(params)
			if err != nil {
				t.Fatal(err)
			}
			m := h.Post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + string(raw) + `}`).Answer(t)
			var r struct {
				ResultType, RequestState string
				InputRequests            map[string]struct{ Method string }
				Content                  []struct{ Text string }
			}
			if m.Error != nil || json.Unmarshal(m.Result, &r) != nil {
				t.Fatal(m.Raw)
			}
			if r.ResultType != "input_required" {
				answered(t, r.Content[0].Text)
				break
			}
			if rounds++; rounds > 5 {
				t.Fatal("it asks for ever")
			}
			answers := map[string]any{}
			for key, q := range r.InputRequests {
				answers[key] = map[string]any{"action": "accept", "content": map[string]string{"name": "Ada"}}
				if q.Method == mcp.MethodSampling {
					answers[key] = map[string]any{"role": "assistant", "model": "gpt-test", "content": map[string]string{"type": "text", "text": "forty-two"}}
				}
			}
			params["requestState"], params["inputResponses"] = r.RequestState, answers
		}
	})
}

// answered checks that a person was asked twice and a model once.
func answered(t *testing.T, text string) {
	t.Helper()
	if strings.Count(text, "Ada") < 2 || !strings.Contains(text, "forty-two") {
		t.Errorf("it is %s", text)
	}
}
