package seeds

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
)

// files returns a server with the tool of document 003.
func files() *mcpserver.Server {
	s := mcpserver.New("files")
	s.SetTools(mcpserver.Tool{
		Definition: `{"name":"read_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}`,
		Run: func(_ context.Context, c *mcpserver.Call) (any, error) {
			var args struct{ Path string }
			if err := c.Bind(&args); err != nil {
				return nil, err
			}
			data, err := os.ReadFile(args.Path)
			if err != nil {
				return mcpserver.Failure("%v", err), nil
			}
			return mcpserver.Text("%s", data), nil
		},
	})
	return s
}

// proxyConfig returns a config in the format of document 003: two schemas with
// a server of the same name each, and a disabled one.
func proxyConfig(t *testing.T, rest string) string {
	t.Helper()
	return fmt.Sprintf(`{"server":{"port":0},"schemas":{"default":{"mcpServers":{"who":%s,"files":%s,"example":%s}},"workspace":{"mcpServers":{"who":%s}},`+
		`"off":{"enabled":false,"mcpServers":{"who":%s}}},"logging":{"level":"info"}%s}`,
		child(t, "-role", "hostile"), serve(t, files()), child(t, "-role", "example"), child(t, "-role", "hostile"), child(t, "-role", "hostile"), rest)
}

func proxyStdio(t *testing.T, config string, args ...string) *mcptest.RawStdio {
	t.Helper()
	return mcptest.StartStdio(t, program(t, "mcps-proxy", append([]string{"--stdio", "--config", mcptest.WriteConfig(t, config)}, args...)...))
}

func proxyHTTP(t *testing.T, config string, args ...string) *mcptest.Process {
	t.Helper()
	p := mcptest.Start(t, program(t, "mcps-proxy", append([]string{"--config", mcptest.WriteConfig(t, config)}, args...)...))
	p.Listening()
	return p
}

func TestDocument003Stdio(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("文件内容"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := proxyStdio(t, proxyConfig(t, ""))
	t.Run("req/S003-5+S003-7+S003-10+S003-40+S003-41", func(t *testing.T) {
		m := w.Ask(fmt.Sprintf(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"read_file","arguments":{"path":%q}},"id":1}`, file))
		if want := `{"jsonrpc":"2.0","result":{"content":[{"text":"文件内容","type":"text"}],"isError":false},"id":1}`; m.Raw != want {
			t.Errorf("got %s", m.Raw)
		}
	})
	t.Run("req/S003-11", func(t *testing.T) {
		wantResult(t, w.Ask(request(2, "resources/read", `{"uri":"example://test/resource1"}`)),
			`{"contents":[{"uri":"example://test/resource1","mimeType":"text/plain","text":"这是资源的内容"}]}`)
	})
	t.Run("req/S003-12", func(t *testing.T) {
		m := w.Ask(request(3, "prompts/get", `{"name":"example_prompt","arguments":{"context":"x"}}`))
		if !strings.Contains(m.Raw, "基于上下文：x") {
			t.Errorf("got %s", m.Raw)
		}
	})
	t.Run("req/S003-43", func(t *testing.T) {
		for i, method := range []string{"ping", "tools/list", "resources/list", "resources/templates/list", "prompts/list", "roots/list"} {
			if m := w.Ask(request(10+i, method, "")); m.Error != nil {
				t.Errorf("%s: %s", method, m.Raw)
			}
		}
		for params, method := range map[string]string{
			`{"level":"info"}`: "logging/setLevel", `{"uri":"example://test/resource1"}`: "resources/subscribe",
			`{"ref":{"type":"ref/prompt","name":"example_prompt"},"argument":{"name":"context","value":""}}`: "completion/complete",
		} {
			if m := w.Ask(request(20, method, params)); m.Error != nil {
				t.Errorf("%s: %s", method, m.Raw)
			}
		}
	})
	t.Run("req/S003-6+S003-15+S003-24", func(t *testing.T) {
		// One hostile server of one schema and one example: the helper has no
		// more children.
		if text := textOf(t, w.Ask(call(30, "who__pid", `{}`))); text == "" {
			t.Error("no process")
		}
		names := listed(t, w.Ask(request(31, "tools/list", "")), "tools")
		for _, name := range names {
			if !strings.HasPrefix(name, "who__") && !strings.HasPrefix(name, "files__") && !strings.HasPrefix(name, "example__") && !strings.HasPrefix(name, "mcp-all-in-one-") {
				t.Errorf("tool %s", name)
			}
		}
		if count := childrenOf(t, w.PID()); count != 2 {
			t.Errorf("%d servers run, want 2", count)
		}
	})
	t.Run("req/S003-52", func(t *testing.T) {
		if code := w.Finish(patience); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("req/S003-30+S003-31+S003-32+S003-25", func(t *testing.T) {
		for _, want := range []string{"stdio", "default", "JSON-RPC 2.0"} {
			if !strings.Contains(strings.ToLower(w.Stderr()), strings.ToLower(want)) {
				t.Errorf("the start does not say %q:\n%s", want, w.Stderr())
			}
		}
		if rest := w.Unclaimed(); len(rest) > 0 {
			t.Errorf("on standard output: %q", rest)
		}
	})
}

// childrenOf counts the fixture servers below a process.
func childrenOf(t *testing.T, pid int) int {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, list := range lists {
		data, _ := os.ReadFile(list) // the thread may have ended
		for field := range strings.FieldsSeq(string(data)) {
			id, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			if name, _ := os.ReadFile("/proc/" + field + "/comm"); strings.HasPrefix(string(name), "fakeserver") {
				n++
			}
			n += childrenOf(t, id)
		}
	}
	return n
}

func TestDocument003JSONRPC(t *testing.T) {
	t.Run("req/S003-9+S003-26+S003-53", func(t *testing.T) {
		w := proxyStdio(t, proxyConfig(t, ""))
		for sent, want := range map[string]string{
			`{"jsonrpc":"2.0","id":"text","method":"ping"}`:                  `{"jsonrpc":"2.0","result":{},"id":"text"}`,
			`{"jsonrpc":"2.0","id":0,"method":"ping"}`:                       `{"jsonrpc":"2.0","result":{},"id":0}`,
			`{"jsonrpc":"2.0","id":12345678901234567890123,"method":"ping"}`: `{"jsonrpc":"2.0","result":{},"id":12345678901234567890123}`,
			`{"jsonrpc":"2.0","id":-1.5e3,"method":"ping"}`:                  `{"jsonrpc":"2.0","result":{},"id":-1.5e3}`,
		} {
			w.Send(sent)
			w.Expect(want, func(m *mcptest.Message) bool { return m.Raw == want })
		}
		for sent, code := range map[string]int64{
			`{`: -32700, `7`: -32600, `{"jsonrpc":"1.0","id":1,"method":"ping"}`: -32600, `{"jsonrpc":"2.0","id":null,"method":"ping"}`: -32600, `[]`: -32600,
		} {
			w.Send(sent)
			w.Expect(fmt.Sprint(sent, code), func(m *mcptest.Message) bool { return m.Error != nil && m.Error.Code == code })
		}
		// A client without a handshake may send batches.
		w.Send(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`)
		w.Finish(patience)
		for _, line := range w.Unclaimed() {
			if strings.HasPrefix(line, "[") && strings.Contains(line, `"id":1`) && strings.Contains(line, `"id":2`) && strings.Count(line, "jsonrpc") == 2 {
				return
			}
		}
		t.Errorf("no answer to the batch: %q", w.Unclaimed())
	})
}

func TestDocument003HTTP(t *testing.T) {
	p := proxyHTTP(t, proxyConfig(t, ""))
	at := func(schema string) *httpWire { return newHTTPWire(t, p.URL+"/api/"+schema+"/mcp") }
	pids := map[string]string{}
	t.Run("req/S003-1+S003-3+S003-13+S003-14", func(t *testing.T) {
		for _, schema := range []string{"default", "workspace"} {
			pids[schema] = textOf(t, at(schema).ask(call(1, "who__pid", `{}`)))
		}
		if pids["default"] == pids["workspace"] {
			t.Errorf("both schemas use process %s", pids["default"])
		}
		if m := at("workspace").ask(request(2, "tools/list", "")); strings.Contains(m.Raw, "files__") || !strings.Contains(m.Raw, "who__pid") {
			t.Errorf("the tools of workspace: %s", m.Raw)
		}
	})
	t.Run("req/S003-47", func(t *testing.T) {
		for _, schema := range []string{"nowhere", "off"} {
			reply := at(schema).raw.Post(request(3, "tools/list", ""))
			m := reply.Answer(t)
			if reply.Status != 404 || m.Error == nil || m.Error.Code != 404 || m.Error.Message != fmt.Sprintf("Schema '%s' not found or disabled", schema) {
				t.Errorf("%s: %d %s", schema, reply.Status, reply.Body)
			}
		}
		var health struct {
			Status, Timestamp string
			Uptime            float64
		}
		decode(t, []byte(get(t, p.URL+"/health")), &health)
		if health.Status == "" || health.Timestamp == "" {
			t.Errorf("health: %+v", health)
		}
	})
	t.Run("req/S003-4", func(t *testing.T) {
		at("default").ask(request(4, "tools/list", "")) // the first list waits for all servers
		var status struct {
			Server struct {
				Status, URL, Uptime string
				Port                int
			}
			Schemas map[string]struct {
				Status           string
				McpServers       []struct{ ID, Name, Status, Type string }
				TotalTools       int
				ConnectedServers int
			}
			Summary map[string]int
		}
		eventually(t, func() bool { // servers start in parallel, and nothing has waited for all of them
			decode(t, []byte(get(t, p.URL+"/api/status")), &status)
			return status.Summary["connectedServers"] == status.Summary["totalServers"]
		})
		if status.Server.Status != "running" || !strings.HasSuffix(p.URL, fmt.Sprint(status.Server.Port)) || len(status.Server.Uptime) != len("00:00:00") {
			t.Errorf("server: %+v", status.Server)
		}
		workspace := status.Schemas["workspace"]
		if len(status.Schemas) != 2 || workspace.Status != "active" || workspace.ConnectedServers != 1 || workspace.TotalTools == 0 ||
			len(workspace.McpServers) != 1 || workspace.McpServers[0].ID != "who" || workspace.McpServers[0].Type != "stdio" {
			t.Errorf("schemas: %+v", status.Schemas)
		}
		for key, want := range map[string]int{"totalSchemas": 3, "activeSchemas": 2, "totalServers": 4, "connectedServers": 4, "failedServers": 0} {
			if got, ok := status.Summary[key]; !ok || got != want {
				t.Errorf("%s is %d, want %d", key, got, want)
			}
		}
	})
}

func TestDocument003Config(t *testing.T) {
	t.Run("req/S003-22+S003-42", func(t *testing.T) {
		w := proxyStdio(t, proxyConfig(t, `,"cli":{"stdio":{"encoding":"utf8","delimiter":"\n","timeout":30000}}`))
		if m := w.Ask(request(1, "ping", "")); m.Error != nil {
			t.Error(m.Raw)
		}
		w.Finish(patience)
		if strings.Contains(w.Stderr(), "level=WARN") {
			t.Errorf("a valid section is warned about: %s", w.Stderr())
		}
	})
	t.Run("req/S003-23", func(t *testing.T) {
		w := proxyStdio(t, proxyConfig(t, `,"cli":{"stdio":{"encoding":"latin1","delimiter":"","timeout":-5}}`))
		if m := w.Ask(request(1, "ping", "")); m.Error != nil {
			t.Error(m.Raw)
		}
		w.Finish(patience)
		if !strings.Contains(w.Stderr(), "level=WARN") || !strings.Contains(w.Stderr(), "encoding") {
			t.Errorf("no warning: %s", w.Stderr())
		}
	})
	t.Run("req/S003-48", func(t *testing.T) {
		old := `{"server":{"port":3095,"host":"127.0.0.1","cors":{"enabled":true,"origins":["*"],"methods":["GET","POST","OPTIONS"],"credentials":false,` +
			`"allowedHeaders":["Content-Type","Authorization"]}},"schemas":{"default":{"enabled":true,"mcpServers":{"who":` +
			strings.TrimSuffix(child(t, "-role", "hostile"), "}") + `,"type":"stdio","env":{},"cwd":".","timeout":30000,"restart":true,"restartDelay":5000}}}},` +
			`"logging":{"level":"info","maxSize":"10MB","maxFiles":5,"console":true}}`
		w := proxyStdio(t, old)
		if got := textOf(t, w.Ask(call(1, "who##pid", `{}`))); got == "" {
			t.Error("the old name of a tool leads nowhere")
		}
	})
	t.Run("req/S003-2+S003-49", func(t *testing.T) {
		port := mcptest.FreePort(t)
		p := proxyHTTP(t, strings.Replace(proxyConfig(t, ""), `"port":0`, `"port":1`, 1), "--http", "--port", port)
		if !strings.HasSuffix(p.URL, ":"+port) {
			t.Errorf("it listens at %s", p.URL)
		}
	})
}

func TestDocument003Budgets(t *testing.T) {
	t.Run("req/S003-44", func(t *testing.T) {
		config := proxyConfig(t, "")
		p := proxyHTTP(t, config)
		newHTTPWire(t, p.URL+"/api/workspace/mcp").ask(request(1, "tools/list", ""))
		w := proxyStdio(t, config, "--schema=workspace")
		w.Ask(request(1, "tools/list", ""))
		if one, all := childrenOf(t, w.PID()), childrenOf(t, p.PID()); one >= all {
			t.Errorf("one schema runs %d servers, all run %d", one, all)
		}
		if one, all := memoryOf(t, w.PID()), memoryOf(t, p.PID()); one > all+4<<20 {
			t.Errorf("stdio takes %d KiB, HTTP %d KiB", one>>10, all>>10)
		}
	})
	t.Run("req/S003-46", func(t *testing.T) {
		config := proxyConfig(t, "")
		start := time.Now()
		proxyStdio(t, config).Ask(request(1, "ping", ""))
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the first answer after %v", took)
		}
	})
	t.Run("req/S003-50", func(t *testing.T) {
		config := proxyConfig(t, "")
		w := proxyStdio(t, config)
		h := newHTTPWire(t, proxyHTTP(t, config).URL+"/api/default/mcp")
		for _, line := range []string{
			request(1, "no/such", ""), call(1, "nothing", `{}`), call(1, "read_file", `{}`), request(1, "tools/call", `{"name":"read_file"}`),
			request(1, "resources/read", `{"uri":"no:such"}`), request(1, "prompts/get", `{"name":"nothing"}`), request(1, "logging/setLevel", `{"level":"x"}`),
		} {
			a, b := w.Ask(line), h.ask(line)
			if a.Error == nil || b.Error == nil {
				t.Fatalf("%s: %s, %s", line, a.Raw, b.Raw)
			}
			left, _ := json.Marshal(a.Error)
			right, _ := json.Marshal(b.Error)
			if string(left) != string(right) {
				t.Errorf("%s:\nstdio %s\n http %s", line, left, right)
			}
		}
	})
	t.Run("req/S003-51", func(t *testing.T) {
		config := strings.Replace(proxyConfig(t, ""), `"logging":{"level":"info"}`, `"logging":{"level":"debug","format":"json"}`, 1)
		w := proxyStdio(t, config)
		w.Ask(request(1, "tools/list", ""))
		w.Finish(patience)
		entries := 0
		for line := range strings.Lines(w.Stderr()) {
			var entry struct{ Time, Level, Msg string }
			if strings.HasPrefix(line, `{"time"`) {
				decode(t, []byte(line), &entry)
				entries++
			}
		}
		if entries < 2 {
			t.Errorf("%d structured entries: %s", entries, w.Stderr())
		}
	})
}

func TestDocument003Mistakes(t *testing.T) {
	config := proxyConfig(t, "")
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"req/S003-16+S003-17+S003-18+S003-33+S003-34+S003-35": {[]string{"--stdio", "--schema", "nowhere"}, []string{"Schema 'nowhere' not found. Available schemas: default, workspace", "mcps-proxy --stdio --schema="}},
		"req/S003-21+S003-36": {[]string{"--stdio", "--http"}, []string{"Cannot specify both --http and --stdio modes"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := mcptest.Start(t, program(t, "mcps-proxy", append(c.args, "--config", mcptest.WriteConfig(t, config))...))
			p.CloseStdin()
			if code := p.Wait(patience); code == 0 || p.Stdout() != "" {
				t.Errorf("exit code %d, %q", code, p.Stdout())
			}
			for _, want := range c.want {
				if !strings.Contains(p.Stderr(), want) {
					t.Errorf("it does not say %q:\n%s", want, p.Stderr())
				}
			}
		})
	}
	t.Run("req/S003-8+S003-37+S003-19+S003-20+S003-39", func(t *testing.T) {
		for _, as := range []string{"mcps-proxy", "mcps_proxy"} {
			w := mcptest.StartStdio(t, program(t, as, "--stdio", "--schema=workspace", "--config", mcptest.WriteConfig(t, config)))
			if names := join(listed(t, w.Ask(request(1, "tools/list", "")), "tools")); strings.Contains(names, "files__") || !strings.Contains(names, "who__pid") {
				t.Errorf("%s: tools %s", as, names)
			}
		}
	})
	t.Run("req/S003-27+S003-28+S003-29+S003-38", func(t *testing.T) {
		p := mcptest.Start(t, program(t, "mcps-proxy", "--help"))
		if code := p.Wait(patience); code != 0 {
			t.Errorf("exit code %d", code)
		}
		for _, want := range []string{"--stdio", "--http", "--schema", "--port", "--config", "--version", "mcps-proxy --stdio --schema=workspace"} {
			if !strings.Contains(p.Stdout(), want) {
				t.Errorf("the help lacks %q:\n%s", want, p.Stdout())
			}
		}
	})
}
