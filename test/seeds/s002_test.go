package seeds

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// mcpxConfig returns a config in the format of document 002.
func mcpxConfig(t *testing.T, rest string, entries ...string) string {
	t.Helper()
	return `{"mcp_servers":[` + strings.Join(entries, ",") + `]` + rest + `}`
}

// mcpxEntry returns one entry of mcpxConfig.
func mcpxEntry(t *testing.T, name string, args ...string) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"name": name, "command": mcptest.Build(t), "args": args, "env": map[string]string{"KEY": "value"}})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// program returns the product under one of its names, with its own home.
func program(t *testing.T, name string, args ...string) mcptest.Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(mcptest.BuildProduct(t), path); err != nil {
		t.Fatal(err)
	}
	return mcptest.Program{Path: path, Args: args, Env: []string{"HOME=" + t.TempDir(), "XDG_CONFIG_HOME=", "XDG_STATE_HOME="}}
}

// overMCPX runs a test through mcpx and mcpx-sse.
func overMCPX(t *testing.T, config string, run func(t *testing.T, w wire)) {
	t.Run("mcpx", func(t *testing.T) {
		run(t, stdioWire{mcptest.StartStdio(t, program(t, "mcpx", mcptest.WriteConfig(t, config)))})
	})
	t.Run("mcpx-sse", func(t *testing.T) {
		p := mcptest.Start(t, program(t, "mcpx-sse", mcptest.WriteConfig(t, config), "--port", "0"))
		run(t, newHTTPWire(t, p.Listening()+"/mcp/"))
	})
}

func inspect(id int, arguments string) string { return call(id, "inspect", arguments) }

func exec(id int, server, tool, arguments string) string {
	if arguments == "" {
		return call(id, "exec", fmt.Sprintf(`{"server_name":%q,"tool_name":%q}`, server, tool))
	}
	return call(id, "exec", fmt.Sprintf(`{"server_name":%q,"tool_name":%q,"arguments":%s}`, server, tool, arguments))
}

// refused returns the failure that exec or inspect reports.
func refused(t *testing.T, m mcptest.Message) map[string]any {
	t.Helper()
	var result struct{ IsError bool }
	decode(t, m.Result, &result)
	if !result.IsError {
		t.Errorf("not an error: %s", m.Raw)
	}
	var body map[string]any
	decode(t, []byte(textOf(t, m)), &body)
	return body
}

type mcpxTool struct {
	Server      string          `json:"server_name"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

func TestDocument002Tools(t *testing.T) {
	config := mcpxConfig(t, "", mcpxEntry(t, "demo", "-role", "demo"), mcpxEntry(t, "example", "-role", "example"))
	overMCPX(t, config, func(t *testing.T, w wire) {
		shake(t, w)
		list := w.ask(request(2, "tools/list", ""))
		t.Run("req/S002-1+S002-13", func(t *testing.T) {
			if names := listed(t, list, "tools"); join(names) != "inspect exec" {
				t.Errorf("tools: %v", names)
			}
		})
		tools := toolsOf(t, list)
		var params struct {
			Properties map[string]struct{ Type string }
			Required   []string
		}
		t.Run("req/S002-14", func(t *testing.T) {
			decode(t, tools["inspect"].InputSchema, &params)
			if join(params.Required) != "server_name" || params.Properties["tool_name"].Type != "string" || len(params.Properties) != 2 {
				t.Errorf("inspect: %s", tools["inspect"].InputSchema)
			}
			for _, want := range []string{"Inspect available MCP tools and their schemas.\n\nAvailable tools:", "\n  Server: demo - A demonstration", "\n    - echo: Say a message back"} {
				if !strings.Contains(tools["inspect"].Description, want) {
					t.Errorf("the description lacks %q:\n%s", want, tools["inspect"].Description)
				}
			}
		})
		t.Run("req/S002-17", func(t *testing.T) {
			params.Properties, params.Required = nil, nil
			decode(t, tools["exec"].InputSchema, &params)
			if join(params.Required) != "server_name tool_name" || params.Properties["arguments"].Type != "object" || len(params.Properties) != 3 {
				t.Errorf("exec: %s", tools["exec"].InputSchema)
			}
		})
		inspecting(t, w)
		executing(t, w)
		t.Run("req/S002-24", func(t *testing.T) {
			if rest := w.rest(); len(rest) > 0 {
				t.Errorf("left over: %q", rest)
			}
		})
	})
}

func inspecting(t *testing.T, w wire) {
	t.Run("req/S002-16+S002-36/server", func(t *testing.T) {
		var tools []mcpxTool
		decode(t, []byte(textOf(t, w.ask(inspect(3, `{"server_name":"example"}`)))), &tools)
		if len(tools) != 1 || tools[0].Server != "example" || tools[0].Name != "example_tool" || tools[0].Description != "示例工具" {
			t.Errorf("got %+v", tools)
		}
	})
	t.Run("req/S002-4+S002-5+S002-16+S002-36/tool", func(t *testing.T) {
		var tool mcpxTool
		decode(t, []byte(textOf(t, w.ask(inspect(4, `{"server_name":"demo","tool_name":"add"}`)))), &tool)
		sameJSON(t, "input_schema", string(tool.InputSchema), `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`)
	})
	t.Run("req/S002-6+S002-15+S002-36/neither", func(t *testing.T) {
		for _, arguments := range []string{`{}`, `{"tool_name":"add"}`, `{"server_name":""}`} {
			body := refused(t, w.ask(inspect(5, arguments)))
			if body["error"] != "server_name is required" || fmt.Sprint(body["available_servers"]) != "[demo example]" {
				t.Errorf("%s: got %v", arguments, body)
			}
		}
		if m := w.ask(request(5, "tools/call", `{"name":"inspect"}`)); refused(t, m)["error"] != "server_name is required" {
			t.Errorf("without arguments: %s", m.Raw)
		}
	})
	t.Run("req/S002-38/inspect", func(t *testing.T) {
		body := refused(t, w.ask(inspect(6, `{"server_name":"nowhere"}`)))
		if body["error"] != "Server 'nowhere' not found" || fmt.Sprint(body["available_servers"]) != "[demo example]" {
			t.Errorf("got %v", body)
		}
		body = refused(t, w.ask(inspect(7, `{"server_name":"example","tool_name":"nothing"}`)))
		if body["error"] != "Tool 'nothing' not found on server 'example'" || fmt.Sprint(body["available_tools"]) != "[example_tool]" {
			t.Errorf("got %v", body)
		}
	})
}

func executing(t *testing.T, w wire) {
	t.Run("req/S002-8+S002-19+S002-37", func(t *testing.T) {
		wantResult(t, w.ask(exec(10, "demo", "echo", `{"message":"hello"}`)), `{"content":[{"type":"text","text":"hello"}],"isError":false}`)
		wantResult(t, w.ask(exec(11, "example", "example_tool", `{"param1":"x"}`)), `{"content":[{"type":"text","text":"工具执行结果: x"}],"isError":false}`)
		wantResult(t, w.ask(exec(12, "demo", "add", `{"a":1,"b":2}`)),
			`{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3},"isError":false}`)
	})
	t.Run("req/S002-9+S002-10+S002-18+S002-37/arguments", func(t *testing.T) {
		for arguments, want := range map[string]string{
			``:                                "Argument validation failed: Missing required argument: 'message'",
			`{}`:                              "Argument validation failed: Missing required argument: 'message'",
			`{"message":7}`:                   "Argument validation failed: ",
			`{"message":["a",{"deep":null}]}`: "'message'",
		} {
			body := refused(t, w.ask(exec(13, "demo", "echo", arguments)))
			if text, _ := body["error"].(string); !strings.Contains(text, want) {
				t.Errorf("%s: got %v", arguments, body)
			}
			if body["server_name"] != "demo" || body["tool_name"] != "echo" || body["success"] != false || body["data"] != nil {
				t.Errorf("%s: got %v", arguments, body)
			}
		}
	})
	t.Run("req/S002-31+S002-38/exec", func(t *testing.T) {
		for _, c := range []struct{ server, tool, want string }{
			{"nowhere", "echo", "Server 'nowhere' not found. Available: ['demo', 'example']"},
			{"example", "nothing", "Tool 'nothing' not found on server 'example'. Available: ['example_tool']"},
			{"", "echo", "server_name is required. Available: ['demo', 'example']"},
			{"demo", "", "tool_name is required"},
		} {
			if body := refused(t, w.ask(exec(14, c.server, c.tool, `{}`))); body["error"] != c.want || body["success"] != false {
				t.Errorf("%s %s: got %v", c.server, c.tool, body)
			}
		}
	})
	t.Run("req/S002-32", func(t *testing.T) {
		wantResult(t, w.ask(exec(15, "demo", "fail", `{}`)), `{"content":[{"type":"text","text":"this tool always fails"}],"isError":true}`)
		wantResult(t, w.ask(exec(16, "demo", "echo", `{"message":"alive"}`)), `{"content":[{"type":"text","text":"alive"}],"isError":false}`)
	})
}

func TestDocument002Connections(t *testing.T) {
	config := mcpxConfig(t, "", mcpxEntry(t, "one", "-role", "hostile"), mcpxEntry(t, "two", "-role", "hostile"))
	overMCPX(t, config, func(t *testing.T, w wire) {
		shake(t, w)
		pid := func(server string) string { return textOf(t, w.ask(exec(2, server, "pid", `{}`))) }
		first, other := pid("one"), pid("two")
		t.Run("req/S002-2+S002-3+S002-7", func(t *testing.T) {
			if first == other {
				t.Errorf("both servers are process %s", first)
			}
		})
		t.Run("req/S002-11+S002-12", func(t *testing.T) {
			for range 5 {
				if now := pid("one"); now != first {
					t.Errorf("a new process for a new call: %s, then %s", first, now)
				}
			}
		})
		t.Run("req/S002-33", func(t *testing.T) {
			body := refused(t, w.ask(exec(3, "one", "crash", `{}`)))
			if text, _ := body["error"].(string); !strings.Contains(text, `server "one"`) {
				t.Errorf("got %v", body)
			}
			if now := pid("two"); now != other {
				t.Errorf("the other server: %s, then %s", other, now)
			}
		})
	})
}

func TestDocument002Config(t *testing.T) {
	t.Run("req/S002-25+S002-26+S002-40", func(t *testing.T) {
		overMCPX(t, mcpxConfig(t, "", mcpxEntry(t, "env", "-role", "hostile")), func(t *testing.T, w wire) {
			if got := textOf(t, w.ask(exec(2, "env", "env", `{}`))); !strings.Contains(got, "\nKEY=value") {
				t.Errorf("the environment of the server: %s", got)
			}
		})
	})
	t.Run("req/S002-27", func(t *testing.T) {
		path := mcptest.WriteConfig(t, mcpxConfig(t, "", mcpxEntry(t, "old", "-role", "example")))
		w := mcptest.StartStdio(t, program(t, "mcpx", path))
		shake(t, stdioWire{w})
		w.Ask(request(2, "tools/list", ""))
		if err := os.WriteFile(path, []byte(mcpxConfig(t, "", mcpxEntry(t, "new", "-role", "example"))), 0o600); err != nil {
			t.Fatal(err)
		}
		if body := refused(t, w.Ask(exec(3, "new", "example_tool", `{"param1":"x"}`))); !strings.Contains(fmt.Sprint(body["error"]), "not found") {
			t.Errorf("before the restart: %v", body)
		}
		if got := textOf(t, w.Ask(exec(4, "old", "example_tool", `{"param1":"x"}`))); got == "" {
			t.Error("the old server is gone before the restart")
		}
		w.Finish(patience)
		again := mcptest.StartStdio(t, program(t, "mcpx", path))
		if got := textOf(t, again.Ask(exec(5, "new", "example_tool", `{"param1":"x"}`))); got == "" {
			t.Error("the new server is not there after the restart")
		}
	})
	for name, broken := range map[string]string{
		"not JSON": `{"mcp_servers":[`, "not an array": `{"mcp_servers":7}`, "no command": `{"mcp_servers":[{"name":"x"}]}`,
	} {
		t.Run("req/S002-28/"+name, func(t *testing.T) {
			for _, as := range []string{"mcpx", "mcpx-sse"} {
				p := mcptest.Start(t, program(t, as, mcptest.WriteConfig(t, broken)))
				p.CloseStdin()
				if code := p.Wait(patience); code == 0 || !strings.Contains(p.Stderr(), "mcp.json") {
					t.Errorf("%s: exit code %d, %q", as, code, p.Stderr())
				}
				if p.Stdout() != "" {
					t.Errorf("%s writes to standard output: %q", as, p.Stdout())
				}
			}
		})
	}
	t.Run("req/S002-28/missing", func(t *testing.T) {
		p := mcptest.Start(t, program(t, "mcpx", filepath.Join(t.TempDir(), "nowhere.json")))
		p.CloseStdin()
		if code := p.Wait(patience); code == 0 || !strings.Contains(p.Stderr(), "nowhere.json") {
			t.Errorf("exit code %d, %q", code, p.Stderr())
		}
	})
	t.Run("req/S002-29+S002-30+S002-38", func(t *testing.T) {
		config := mcpxConfig(t, "", `{"name":"gone","command":"/nonexistent/program","args":[]}`, mcpxEntry(t, "broken", "-role", "hostile", "-mode", "exit-start"),
			mcpxEntry(t, "demo", "-role", "demo"))
		overMCPX(t, config, func(t *testing.T, w wire) {
			shake(t, w)
			if names := listed(t, w.ask(request(2, "tools/list", "")), "tools"); join(names) != "inspect exec" {
				t.Errorf("tools: %v", names)
			}
			if got := textOf(t, w.ask(exec(3, "demo", "echo", `{"message":"x"}`))); got != "x" {
				t.Errorf("got %q", got)
			}
			if body := refused(t, w.ask(exec(4, "gone", "anything", `{}`))); !strings.HasPrefix(fmt.Sprint(body["error"]), "No active connection to server 'gone'") {
				t.Errorf("got %v", body)
			}
		})
	})
}

func TestDocument002Clients(t *testing.T) {
	config := mcpxConfig(t, "", mcpxEntry(t, "demo", "-role", "demo"), mcpxEntry(t, "example", "-role", "example"))
	t.Run("req/S002-20+S002-22+S002-34", func(t *testing.T) {
		// The handshake as Claude Desktop sends it.
		w := mcptest.StartStdio(t, program(t, "mcpx", mcptest.WriteConfig(t, config)))
		m := w.Ask(`{"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"claude-ai","version":"0.1.0"}},"jsonrpc":"2.0","id":0}`)
		if !strings.Contains(m.Raw, `"name":"mcpx"`) || string(m.ID) != "0" {
			t.Errorf("got %s", m.Raw)
		}
		w.Send(`{"method":"notifications/initialized","jsonrpc":"2.0"}`)
		w.Ask(`{"method":"tools/list","params":{},"jsonrpc":"2.0","id":1}`)
		if got := textOf(t, w.Ask(exec(2, "demo", "echo", `{"message":"x"}`))); got != "x" {
			t.Errorf("got %q", got)
		}
		if code := w.Finish(patience); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("req/S002-21+S002-23+S002-35+S002-39", func(t *testing.T) {
		p := mcptest.Start(t, program(t, "mcpx-sse", mcptest.WriteConfig(t, config), "--port", "0"))
		url := p.Listening()
		var clients sync.WaitGroup
		for n := range 8 {
			clients.Go(func() {
				w := newHTTPWire(t, url+"/mcp/")
				if m := w.ask(initialize); m.Error != nil {
					t.Errorf("client %d: %s", n, m.Raw)
					return
				}
				for i := range 20 {
					want := fmt.Sprintf("%d-%d", n, i)
					if m := w.ask(exec(i, "demo", "echo", `{"message":"`+want+`"}`)); !strings.Contains(m.Raw, `"`+want+`"`) || string(m.ID) != fmt.Sprint(i) {
						t.Errorf("client %d: %s", n, m.Raw)
					}
					if m := w.ask(inspect(i, `{"server_name":"example"}`)); !strings.Contains(m.Raw, "example_tool") {
						t.Errorf("client %d: %s", n, m.Raw)
					}
				}
			})
		}
		clients.Wait()
	})
	t.Run("req/S002-39/stdio", func(t *testing.T) {
		path := mcptest.WriteConfig(t, config)
		processes := make([]*mcptest.RawStdio, 8)
		for n := range processes {
			processes[n] = mcptest.StartStdio(t, program(t, "mcpx", path))
			processes[n].Send(exec(n, "demo", "echo", fmt.Sprintf(`{"message":"%d"}`, n)))
		}
		for n, w := range processes {
			if got := textOf(t, w.Answer(fmt.Sprint(n))); got != fmt.Sprint(n) {
				t.Errorf("client %d: %q", n, got)
			}
		}
	})
}
