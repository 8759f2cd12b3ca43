package seeds

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

const sampleFile = "../../openspec/specs/test-sample/mcp.json"

const validKey = "valid-key"

// sample returns the shipped config of document 000, with the address of the
// search service replaced by that of a fixture, and a uvx on the PATH that is
// the fixture Time. It also returns the file to which uvx writes its arguments.
func sample(t *testing.T) (config, noted string) {
	t.Helper()
	data, err := os.ReadFile(sampleFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	noted = filepath.Join(dir, "arguments")
	script := fmt.Sprintf("#!/bin/sh\necho \"$@\" >%q\nexec %q -role time\n", noted, mcptest.Build(t))
	if err := os.WriteFile(filepath.Join(dir, "uvx"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	const address = "https://open.bigmodel.cn/api/mcp/web_search_prime/mcp"
	if !strings.Contains(string(data), address) {
		t.Fatalf("the sample config does not lead to the search service: %s", data)
	}
	return strings.Replace(string(data), address, listen(t, mcptest.ZhipuServer(), validKey)+"/mcp", 1), noted
}

// setKey sets or unsets the key of the search service for this test.
func setKey(t *testing.T, key string) {
	t.Helper()
	t.Setenv("Z_AI_API_KEY", key)
	if key == "" {
		os.Unsetenv("Z_AI_API_KEY")
	}
}

// The requests of document 000.
const (
	initialize000 = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":` +
		`{"tools":{},"roots":{},"sampling":{}},"clientInfo":{"name":"test-client","version":"1.0.0"}}}`
	list000   = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	time000   = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"Time__get_current_time","arguments":{"timezone":"Asia/Shanghai"}}}`
	search000 = `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"zhipu-web-search__web_search","arguments":` +
		`{"query":"Model Context Protocol","num_results":3}}}`
	nowhere000  = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"nonexistent_tool","arguments":{}}}`
	noQuery000  = `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"zhipu-web-search__web_search","arguments":{}}}`
	noMethod000 = `{"jsonrpc":"2.0","id":7,"method":"invalid/method","params":{}}`
	shutdown000 = `{"jsonrpc":"2.0","id":8,"method":"shutdown"}`
	exit000     = `{"jsonrpc":"2.0","method":"notifications/exit"}`
)

// A tool is a tool in a list.
type tool struct {
	Name, Description string
	InputSchema       json.RawMessage
}

func toolsOf(t *testing.T, m mcptest.Message) map[string]tool {
	t.Helper()
	var result struct{ Tools []tool }
	decode(t, m.Result, &result)
	tools := map[string]tool{}
	for _, one := range result.Tools {
		tools[one.Name] = one
	}
	return tools
}

var standardCodes = map[int64]bool{-32700: true, -32600: true, -32601: true, -32602: true, -32603: true}

// A conversation000 holds the responses in the only session of the document.
type conversation000 struct {
	w                          *mcptest.RawStdio
	hello, list, now, found    mcptest.Message
	nowhere, noQuery, noMethod mcptest.Message
	again, bye                 mcptest.Message
	all                        []mcptest.Message // in the order of the document
	tools                      map[string]tool
	code                       int    // of the exit
	noted                      string // the file with the arguments of uvx
}

// TestDocument000 runs the whole conversation of the document in one session.
func TestDocument000(t *testing.T) {
	setKey(t, validKey)
	config, noted := sample(t)
	w := mcptest.GatewayStdio(t, config, "--no-self-config")
	c := &conversation000{w: w, noted: noted, hello: w.Ask(initialize000)}
	w.Send(initialized)
	c.list, c.now, c.found = w.Ask(list000), w.Ask(time000), w.Ask(search000)
	c.nowhere, c.noQuery, c.noMethod = w.Ask(nowhere000), w.Ask(noQuery000), w.Ask(noMethod000)
	c.again = w.Ask(strings.Replace(time000, `"id":3`, `"id":33`, 1))
	c.bye = w.Ask(shutdown000)
	w.Send(exit000)
	c.code = w.Wait(patience)
	c.all = []mcptest.Message{c.hello, c.list, c.now, c.found, c.nowhere, c.noQuery, c.noMethod, c.bye}
	c.tools = toolsOf(t, c.list)
	handshake000(t, c)
	listed000(t, c)
	errors000(t, c)
	rules000(t, c)
}

func handshake000(t *testing.T, c *conversation000) {
	var welcome struct {
		ProtocolVersion string
		Capabilities    map[string]json.RawMessage
		ServerInfo      json.RawMessage
	}
	decode(t, c.hello.Result, &welcome)
	t.Run("req/S000-2", func(t *testing.T) {
		if welcome.ProtocolVersion != "2025-06-18" || string(c.hello.ID) != "1" {
			t.Error(c.hello.Raw)
		}
	})
	t.Run("req/S000-3", func(t *testing.T) {
		sameJSON(t, "tools", string(welcome.Capabilities["tools"]), `{"listChanged":true}`)
	})
	t.Run("req/S000-4", func(t *testing.T) {
		sameJSON(t, "roots", string(welcome.Capabilities["roots"]), `{}`)
		sameJSON(t, "sampling", string(welcome.Capabilities["sampling"]), `{}`)
	})
	t.Run("req/S000-5", func(t *testing.T) {
		sameJSON(t, "serverInfo", string(welcome.ServerInfo), `{"name":"mcp-all-in-one","version":"1.0.0"}`)
	})
	t.Run("req/S000-6", func(t *testing.T) {
		if rest := c.w.Unclaimed(); len(rest) > 0 {
			t.Errorf("lines that nobody asked for: %q", rest)
		}
	})
}

func listed000(t *testing.T, c *conversation000) {
	t.Run("req/S000-1", func(t *testing.T) {
		if c.hello.Error != nil || c.tools["Time__get_current_time"].Name == "" || c.tools["zhipu-web-search__web_search"].Name == "" {
			t.Errorf("not both services: %s", c.list.Raw)
		}
	})
	t.Run("req/S000-7", func(t *testing.T) {
		if c.list.Error != nil || len(c.tools) == 0 {
			t.Error(c.list.Raw)
		}
	})
	t.Run("req/S000-8", func(t *testing.T) {
		got := c.tools["Time__get_current_time"]
		if got.Description != "[Time] Get the current time in a specified timezone" {
			t.Errorf("description %q", got.Description)
		}
		sameJSON(t, "inputSchema", string(got.InputSchema),
			`{"type":"object","properties":{"timezone":{"type":"string","description":"IANA timezone identifier (e.g., 'Asia/Shanghai')"}}}`)
	})
	t.Run("req/S000-9", func(t *testing.T) {
		got := c.tools["zhipu-web-search__web_search"]
		if got.Description != "[zhipu-web-search] Search the web using Zhipu AI" {
			t.Errorf("description %q", got.Description)
		}
		sameJSON(t, "inputSchema", string(got.InputSchema), `{"type":"object","properties":{"query":{"type":"string","description":"Search query"},`+
			`"num_results":{"type":"number","description":"Number of results to return (default: 10)"}},"required":["query"]}`)
	})
	t.Run("req/S000-10", func(t *testing.T) { schemasUnchanged(t, c.tools) })
	t.Run("req/S000-11", func(t *testing.T) {
		if got := textOf(t, c.now); !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+08:00$`).MatchString(got) {
			t.Errorf("the time is %q", got)
		}
	})
	t.Run("req/S000-12", func(t *testing.T) {
		if got := textOf(t, c.found); !strings.HasPrefix(got, "Web search results for 'Model Context Protocol':\n1. ") || strings.Count(got, "\n") != 3 {
			t.Errorf("found %q", got)
		}
	})
}

func errors000(t *testing.T, c *conversation000) {
	t.Run("req/S000-14", func(t *testing.T) {
		wantError(t, c.nowhere, -32601, "Tool 'nonexistent_tool' not found", `{"tool":"nonexistent_tool"}`)
	})
	t.Run("req/S000-15", func(t *testing.T) {
		wantError(t, c.noQuery, -32602, "Invalid params: Missing required parameter 'query'", `{"parameter":"query"}`)
	})
	t.Run("req/S000-16", func(t *testing.T) {
		wantError(t, c.noMethod, -32601, "Method 'invalid/method' not found", `{"method":"invalid/method","reason":"Method not found"}`)
	})
	t.Run("req/S000-17", func(t *testing.T) { wantResult(t, c.bye, `{}`) })
	t.Run("req/S000-18", func(t *testing.T) {
		if c.code != 0 || len(c.w.Unclaimed()) > 0 {
			t.Errorf("exit code %d, %q", c.code, c.w.Unclaimed())
		}
	})
	t.Run("req/S000-19+S000-20", func(t *testing.T) {
		for i, m := range c.all {
			// ParseMessage has already compared the version with 2.0.
			if string(m.ID) != fmt.Sprint(i+1) || (m.Error == nil) == (m.Result == nil) {
				t.Errorf("answer %d: %s", i+1, m.Raw)
			}
		}
	})
	t.Run("req/S000-21", func(t *testing.T) {
		for _, m := range []mcptest.Message{c.nowhere, c.noQuery, c.noMethod} {
			if !standardCodes[m.Error.Code] {
				t.Errorf("code %d is not one of JSON-RPC", m.Error.Code)
			}
		}
	})
}

func rules000(t *testing.T, c *conversation000) {
	t.Run("req/S000-22", func(t *testing.T) {
		for name := range c.tools {
			if !strings.HasPrefix(name, "Time__") && !strings.HasPrefix(name, "zhipu-web-search__") {
				t.Errorf("tool %q", name)
			}
		}
	})
	t.Run("req/S000-24", func(t *testing.T) {
		for name, one := range c.tools {
			service, _, _ := strings.Cut(name, "__")
			if !strings.HasPrefix(one.Description, "["+service+"] ") {
				t.Errorf("%s: %q", name, one.Description)
			}
		}
	})
	t.Run("req/S000-26+S000-27", func(t *testing.T) {
		for _, service := range []string{"Time__", "zhipu-web-search__"} {
			if !strings.Contains(c.list.Raw, service) {
				t.Errorf("nothing of %s in %s", service, c.list.Raw)
			}
		}
	})
	t.Run("req/S000-30", func(t *testing.T) {
		args, err := os.ReadFile(c.noted)
		if err != nil || strings.TrimSpace(string(args)) != "mcp-server-time --local-timezone=Asia/Shanghai" {
			t.Errorf("uvx got %q, %v", args, err)
		}
	})
	t.Run("req/S000-31", func(t *testing.T) {
		if len(c.tools) != 2 {
			t.Errorf("%d tools", len(c.tools))
		}
	})
	t.Run("req/S000-32", func(t *testing.T) {
		for i, m := range c.all {
			if failed := m.Error != nil; failed != (i >= 4 && i <= 6) {
				t.Errorf("step %d: %s", i+1, m.Raw)
			}
		}
	})
	t.Run("req/S000-33+S000-34", func(t *testing.T) {
		for _, m := range []mcptest.Message{c.now, c.found} {
			if textOf(t, m) == "" {
				t.Error(m.Raw)
			}
		}
	})
	t.Run("req/S000-35", func(t *testing.T) {
		for _, m := range []mcptest.Message{c.nowhere, c.noQuery, c.noMethod} {
			if m.Error.Code == 0 || len(m.Error.Message) < 10 {
				t.Error(m.Raw)
			}
		}
	})
	t.Run("req/S000-36", func(t *testing.T) {
		if c.again.Error != nil {
			t.Errorf("after the errors: %s", c.again.Raw)
		}
	})
}

// schemasUnchanged compares the listed schemas with those of the servers.
func schemasUnchanged(t *testing.T, listed map[string]tool) {
	t.Helper()
	for service, args := range map[string][]string{"Time": {"-role", "time"}, "zhipu-web-search": {"-role", "zhipu"}} {
		direct := mcptest.StartStdio(t, mcptest.Program{Path: mcptest.Build(t), Args: args})
		direct.Initialize("2025-06-18", `{}`)
		for name, own := range toolsOf(t, direct.Ask(list000)) {
			if got := listed[service+"__"+name]; string(got.InputSchema) != string(own.InputSchema) {
				t.Errorf("%s:\n got %s\nwant %s", name, got.InputSchema, own.InputSchema)
			}
		}
	}
}

func TestDocument000Key(t *testing.T) {
	const refused = "Authentication failed: Invalid or missing Z_AI_API_KEY"
	for name, key := range map[string]string{"invalid": "wrong-key", "unset": ""} {
		t.Run("req/S000-13/"+name, func(t *testing.T) {
			setKey(t, key)
			config, _ := sample(t)
			over(t, config, func(t *testing.T, w wire) {
				if m := w.ask(initialize000); m.Error != nil {
					t.Fatal(m.Raw)
				}
				m := w.ask(search000)
				wantError(t, m, -32603, refused, "")
				var data map[string]any
				decode(t, m.Error.Data, &data)
				if data["service"] != "zhipu-web-search" {
					t.Errorf("data: %s", m.Error.Data)
				}
				if _, told := data["status"]; told != (key != "") {
					t.Errorf("data: %s", m.Error.Data)
				}
				// If one service refuses us, the other one still works.
				if got := textOf(t, w.ask(time000)); got == "" {
					t.Error("Time does not answer")
				}
				if _, there := toolsOf(t, w.ask(list000))["Time__get_current_time"]; !there {
					t.Error("Time is not listed")
				}
			})
		})
	}
	t.Run("req/S000-29", func(t *testing.T) {
		setKey(t, validKey)
		config, _ := sample(t)
		if !strings.Contains(config, `"Bearer ${Z_AI_API_KEY}"`) {
			t.Errorf("the key is not a variable: %s", config)
		}
		over(t, config, func(t *testing.T, w wire) {
			if got := textOf(t, w.ask(search000)); !strings.Contains(got, "3. [Title 3]") {
				t.Errorf("found %q", got)
			}
		})
	})
}

func TestDocument000Routes(t *testing.T) {
	t.Run("req/S000-23+S000-25", func(t *testing.T) {
		// Two services with the same tool, and one whose own name contains the
		// separator: only a table can distinguish them.
		config := serversConfig("a", child(t, "-role", "demo"), "a__b", child(t, "-role", "example"), "Time", child(t, "-role", "time"))
		over(t, config, func(t *testing.T, w wire) {
			shake(t, w)
			if got := textOf(t, w.ask(call(2, "a__echo", `{"message":"x"}`))); got != "x" {
				t.Errorf("a__echo: %q", got)
			}
			if got := textOf(t, w.ask(call(3, "a__b__example_tool", `{"param1":"y"}`))); got != "工具执行结果: y" {
				t.Errorf("a__b__example_tool: %q", got)
			}
			if got := textOf(t, w.ask(call(4, "Time__get_current_time", `{"timezone":"UTC"}`))); !strings.HasSuffix(got, "+00:00") {
				t.Errorf("Time__get_current_time: %q", got)
			}
		})
	})
	t.Run("req/S000-28", func(t *testing.T) {
		config := serversConfig("gone", `{"command":"/nonexistent/program"}`, "broken", child(t, "-role", "hostile", "-mode", "exit-start"),
			"far", `{"type":"http","url":"http://127.0.0.1:1/mcp"}`, "Time", child(t, "-role", "time"))
		over(t, config, func(t *testing.T, w wire) {
			shake(t, w)
			if got := textOf(t, w.ask(time000)); got == "" {
				t.Error("Time does not answer")
			}
			m := w.ask(call(9, "gone__anything", `{}`))
			if m.Error == nil || m.Error.Code != -32603 || !strings.Contains(m.Error.Message, "gone") {
				t.Errorf("a call to the service that cannot start: %s", m.Raw)
			}
		})
	})
}

// TestGolden000 compares every byte of the conversation.
func TestGolden000(t *testing.T) {
	setKey(t, validKey)
	config, _ := sample(t)
	w := mcptest.GatewayStdio(t, config, "--no-self-config")
	converse(t, stdioWire{w}, "s000.txt")
	if code := w.Wait(patience); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
