package code

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// added is what the tool add of a server says to addition.
const (
	addition = `{"a": 420000, "b": 4242}`
	added    = "424242"
)

// sumOf is a script that returns what a server says.
func sumOf(server string) string {
	return `return String((await tools.` + server + `.add(` + addition + `)).sum)`
}

// A narrowing is a shop whose key is narrowed to fewer servers.
type narrowing struct {
	*shop
	t *testing.T
}

func newNarrowing(t *testing.T) *narrowing {
	scripts, cached := map[string]any{}, map[string]any{}
	for _, server := range []string{"demo", "other"} {
		scripts["of_"+server] = map[string]any{"code": sumOf(server), "readOnly": true}
		cached["of_"+server] = map[string]any{"cache": "10m"}
	}
	servers := map[string]any{"demo": shell(t, ""), "other": shell(t, ""), "reports": map[string]any{"scripts": scripts, "tools": cached}}
	for _, entry := range servers {
		entry.(map[string]any)["results"] = map[string]any{"limit": "1B"}
	}
	return &narrowing{openShop(t, map[string]any{
		"results": map[string]any{"head": "0B", "tail": "0B"}, "scripts": map[string]any{"output": 256}, "mcpServers": servers,
	}, map[string][]string{"ann": {"mode:code"}}), t}
}

// narrow takes the server demo from the key, which ends the session w.
func (n *narrowing) narrow(w *web) {
	n.t.Helper()
	stream := w.Stream(http.MethodGet, "")
	text, err := os.ReadFile(n.file)
	if err != nil {
		n.t.Fatal(err)
	}
	const was = `"name": "ann",`
	now := strings.Replace(string(text), was, was+` "servers": ["other", "reports"],`, 1)
	if now == string(text) {
		n.t.Fatalf("the file of keys: %s", text)
	}
	// The file is replaced: one that is half written has no keys.
	if err := os.WriteFile(n.file+".new", []byte(now), 0o600); err != nil {
		n.t.Fatal(err)
	}
	if err := os.Rename(n.file+".new", n.file); err != nil {
		n.t.Fatal(err)
	}
	for stream.Next() != nil { // until it has ended, and the sessions of the key with it
	}
}

// TestNarrowedKeyAndScripts checks that a key that was narrowed finds what a script
// returned only if it still sees all servers from which the script had something.
func TestNarrowedKeyAndScripts(t *testing.T) {
	n := newNarrowing(t)
	w := n.open("ann", "/mcp")
	exec := func(server, tool, arguments string) map[string]any {
		return map[string]any{"name": "exec", "arguments": map[string]any{"server_name": server, "tool_name": tool, "arguments": json.RawMessage(arguments)}}
	}
	run := func(code string) map[string]any {
		return map[string]any{"name": "run", "arguments": map[string]any{"code": strings.Replace(code, "return ", "return 'x'.repeat(300) + ", 1)}}
	}
	uriOf := func(what string, call map[string]any) string {
		t.Helper()
		m := w.ask(mcp.MethodToolsCall, call)
		uri := resultURI.FindString(string(m.Result))
		if uri == "" {
			t.Fatalf("%s: nothing is kept: %s", what, m.Raw)
		}
		return uri
	}
	kept := map[string]map[string]string{} // by server and how it came
	for _, server := range []string{"demo", "other"} {
		is := map[string]string{"exec": uriOf("exec", exec(server, "add", addition))}
		for how, call := range map[string]map[string]any{
			"script":               run(sumOf(server)),
			"error of a script":    run(`throw 'x'.repeat(300) + await (async () => {` + sumOf(server) + `})()`),
			"kept in a script":     run(`return JSON.stringify(await kept('` + is["exec"] + `'))`),
			"resource of a script": run(`return (await resources.read('` + is["exec"] + `')).contents[0].text`),
			"stored script":        exec("reports", "of_"+server, `{}`),
			"script of the script": run(`return await tools.reports.of_` + server + `({})`),
		} {
			is[how] = uriOf(how, call)
		}
		is["stored script, from the cache"] = uriOf("cache", exec("reports", "of_"+server, `{}`))
		kept[server] = is
	}
	tasks := map[string]map[string]string{}
	for _, server := range []string{"demo", "other"} {
		is := readTask(t, w.ask(mcp.MethodToolsCall, map[string]any{"name": "run", "arguments": map[string]any{"code": sumOf(server)}, "task": map[string]any{}}), "task")
		late := n.began(`await sleep(1000); ` + sumOf(server))
		tasks[server] = map[string]string{"legacy": is.TaskID, "modern": late}
		until(t, "the tasks have ended", func() bool {
			m := w.ask(mcp.MethodTasksGet, map[string]any{"taskId": is.TaskID})
			return strings.Contains(m.Raw, "completed") && strings.Contains(n.task(mcp.MethodTasksGet, late, "").Raw, "completed")
		})
	}
	look := func(server string, sees bool) {
		t.Helper()
		w := n.open("ann", "/mcp")
		for how, uri := range kept[server] {
			for by, m := range map[string]mcptest.Message{
				"resources/read": w.ask(mcp.MethodResourcesRead, map[string]any{"uri": uri}),
				"read":           w.ask(mcp.MethodToolsCall, map[string]any{"name": "read", "arguments": map[string]any{"result": uri}}),
				"a script":       w.ask(mcp.MethodToolsCall, map[string]any{"name": "run", "arguments": map[string]any{"code": `return JSON.stringify(await kept('` + uri + `')).slice(-200)`}}),
			} {
				if strings.Contains(m.Raw, added) != sees || !sees && !strings.Contains(m.Raw, "no such result") {
					t.Errorf("code/narrowed %s of %s by %s: %.300s", how, server, by, m.Raw)
				}
			}
		}
		list := w.ask(mcp.MethodTasksList, map[string]any{}).Raw
		legacy, modern := tasks[server]["legacy"], tasks[server]["modern"]
		for how, m := range map[string]mcptest.Message{
			"tasks/result": w.ask(mcp.MethodTasksResult, map[string]any{"taskId": legacy}), "tasks/get": n.task(mcp.MethodTasksGet, modern, ""),
		} {
			if strings.Contains(m.Raw, added) != sees || sees == (m.Error != nil) {
				t.Errorf("code/narrowed %s of a task of %s: %.300s", how, server, m.Raw)
			}
		}
		if strings.Contains(list, legacy) != sees {
			t.Errorf("code/narrowed list of the tasks of %s: %s", server, list)
		}
	}
	look("demo", true)
	look("other", true)
	n.narrow(w)
	look("demo", false)
	look("other", true)
	if m := n.open("ann", "/mcp").ask(mcp.MethodToolsCall, exec("reports", "of_demo", `{}`)); !strings.Contains(m.Raw, "isError\":true") {
		t.Errorf("code/narrowed from the cache: %s", m.Raw)
	}
}

const takesTasks = `{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{}}`

// began starts a script as a task of a modern client.
func (n *narrowing) began(code string) (id string) {
	n.t.Helper()
	is := readTask(n.t, n.modern("ann", mcp.MethodToolsCall, "run", fmt.Sprintf(`{"name":"run","arguments":{"code":%q}}`, code), takesTasks), "")
	return is.TaskID
}

// task makes a request of a modern client about a task.
func (n *narrowing) task(method, id, more string) mcptest.Message {
	n.t.Helper()
	return n.modern("ann", method, id, fmt.Sprintf(`{"taskId":%q%s}`, id, more), takesTasks)
}
