package seeds

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
)

// example returns the config of document 001: one server with the items that
// the document names.
func example(t *testing.T) string {
	return serversConfig("example", child(t, "-role", "example", "-bytes", "3000000"))
}

func TestDocument001Handshake(t *testing.T) {
	t.Setenv("MCP_TEST_MODE", "true")
	t.Setenv("NODE_ENV", "test")
	over(t, example(t), func(t *testing.T, w wire) {
		hello := w.ask(initialize)
		w.tell(initialized)
		var welcome struct {
			ProtocolVersion string
			Capabilities    map[string]json.RawMessage
			ServerInfo      json.RawMessage
		}
		decode(t, hello.Result, &welcome)
		t.Run("req/S001-4", func(t *testing.T) {
			if welcome.ProtocolVersion != "2025-06-18" || string(hello.ID) != "1" {
				t.Error(hello.Raw)
			}
		})
		for id, want := range map[string][2]string{
			"S001-5": {"tools", `{"listChanged":true}`},
			"S001-6": {"resources", `{"subscribe":true,"listChanged":true}`},
			"S001-7": {"prompts", `{"listChanged":true}`},
		} {
			t.Run("req/"+id, func(t *testing.T) {
				sameJSON(t, want[0], string(welcome.Capabilities[want[0]]), want[1])
				sameJSON(t, "logging", string(welcome.Capabilities["logging"]), `{}`)
			})
		}
		t.Run("req/S001-8", func(t *testing.T) {
			sameJSON(t, "serverInfo", string(welcome.ServerInfo), `{"name":"mcp-all-in-one","version":"1.0.0"}`)
		})
		pong := w.ask(request(23, "ping", ""))
		t.Run("req/S001-30", func(t *testing.T) { wantResult(t, pong, `{}`) })
		w.tell(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"req-456","reason":"用户主动取消"}}`)
		again := w.ask(request(24, "ping", ""))
		t.Run("req/S001-9+S001-31", func(t *testing.T) {
			if rest := w.rest(); len(rest) > 0 || again.Error != nil {
				t.Errorf("after the notifications: %q, %s", rest, again.Raw)
			}
		})
	})
}

func TestDocument001Environment(t *testing.T) {
	t.Run("req/S001-1", func(t *testing.T) {
		golden := func(t *testing.T) (string, string) {
			w := mcptest.GatewayStdio(t, example(t))
			shake(t, stdioWire{w})
			answer := w.Ask(request(2, "tools/list", `{}`)).Raw
			w.Finish(patience)
			return answer, w.Stderr()
		}
		plain, quiet := golden(t)
		for name, value := range map[string]string{"MCP_TEST_MODE": "true", "MCP_LOG_LEVEL": "debug", "NODE_ENV": "test"} {
			t.Setenv(name, value)
		}
		tested, verbose := golden(t)
		if plain != tested {
			t.Errorf("the test mode changes an answer:\n%s\n%s", plain, tested)
		}
		if strings.Contains(quiet, "level=DEBUG") || !strings.Contains(verbose, "level=DEBUG") {
			t.Errorf("MCP_LOG_LEVEL does not set the level:\n%s\n---\n%s", quiet, verbose)
		}
	})
}

func TestDocument001Lists(t *testing.T) {
	over(t, example(t), func(t *testing.T, w wire) {
		shake(t, w)
		t.Run("req/S001-10", func(t *testing.T) {
			one := toolsOf(t, w.ask(request(2, "tools/list", `{}`)))["example__example_tool"]
			if one.Description != "[example] 示例工具" {
				t.Errorf("description %q", one.Description)
			}
			sameJSON(t, "inputSchema", string(one.InputSchema),
				`{"type":"object","properties":{"param1":{"type":"string","description":"参数1"}},"required":["param1"]}`)
		})
		t.Run("req/S001-11", func(t *testing.T) {
			wantResult(t, w.ask(call(16, "example_tool", `{"param1":"test_value"}`)),
				`{"content":[{"type":"text","text":"工具执行结果: test_value"}],"isError":false}`)
		})
		t.Run("req/S001-13", func(t *testing.T) {
			wantError(t, w.ask(call(4, "nonexistent_tool", `{}`)), -32601, "Tool 'nonexistent_tool' not found", `{"tool":"nonexistent_tool"}`)
		})
		t.Run("req/S001-14", func(t *testing.T) {
			var result struct{ Resources []json.RawMessage }
			decode(t, w.ask(request(5, "resources/list", `{}`)).Result, &result)
			if len(result.Resources) == 0 {
				t.Fatal("no resources")
			}
			sameJSON(t, "resource", string(result.Resources[0]),
				`{"uri":"example://test/resource1","name":"测试资源1","description":"[example] 这是一个测试资源","mimeType":"text/plain"}`)
		})
		t.Run("req/S001-15", func(t *testing.T) {
			wantResult(t, w.ask(request(6, "resources/read", `{"uri":"example://test/resource1"}`)),
				`{"contents":[{"uri":"example://test/resource1","mimeType":"text/plain","text":"这是资源的内容"}]}`)
		})
		t.Run("req/S001-16", func(t *testing.T) {
			var result struct{ ResourceTemplates []json.RawMessage }
			decode(t, w.ask(request(7, "resources/templates/list", `{}`)).Result, &result)
			if len(result.ResourceTemplates) != 2 {
				t.Fatalf("templates: %s", result.ResourceTemplates)
			}
			sameJSON(t, "template", string(result.ResourceTemplates[0]),
				`{"uriTemplate":"example://test/{id}","name":"测试模板","description":"[example] 测试资源模板","mimeType":"text/plain"}`)
		})
		t.Run("req/S001-17", func(t *testing.T) {
			wantResult(t, w.ask(request(8, "resources/subscribe", `{"uri":"example://test/resource1"}`)), `{}`)
		})
		t.Run("req/S001-33", func(t *testing.T) {
			wantResult(t, w.ask(request(24, "resources/unsubscribe", `{"uri":"example://test/resource1"}`)), `{}`)
		})
		t.Run("req/S001-18", func(t *testing.T) {
			var result struct{ Prompts []json.RawMessage }
			decode(t, w.ask(request(9, "prompts/list", `{}`)).Result, &result)
			if len(result.Prompts) == 0 {
				t.Fatal("no prompts")
			}
			sameJSON(t, "prompt", string(result.Prompts[0]), `{"name":"example__example_prompt","description":"[example] 示例提示",`+
				`"arguments":[{"name":"context","description":"上下文信息","required":true}]}`)
		})
		t.Run("req/S001-19", func(t *testing.T) {
			// The document sends param1, although context is required.
			wantResult(t, w.ask(request(10, "prompts/get", `{"name":"example_prompt","arguments":{"param1":"test_value"}}`)),
				`{"description":"生成的提示描述","messages":[{"role":"user","content":{"type":"text","text":"这是一个示例提示，基于上下文：测试上下文"}}]}`)
		})
		completions(t, w)
		mistakes(t, w)
	})
}

func completions(t *testing.T, w wire) {
	for _, c := range []struct{ id, params, want string }{
		{"req/S001-40", `{"ref":{"type":"ref/prompt","name":"example_prompt"},"argument":{"name":"context","value":"test"}}`,
			`{"completion":{"values":["test context","testing","test data"],"total":3,"hasMore":false}}`},
		{"req/S001-41", `{"ref":{"type":"ref/resource","uri":"example://test/{id}"},"argument":{"name":"id","value":"resource"}}`,
			`{"completion":{"values":["resource1","resource2"],"total":2,"hasMore":false}}`},
		{"req/S001-42", `{"ref":{"type":"ref/resource","uri":"example://test/{category}/{id}"},"argument":{"name":"id","value":"test"},` +
			`"context":{"arguments":{"category":"documents"}}}`,
			`{"completion":{"values":["documents-test-1","documents-test-2"],"total":2,"hasMore":false}}`},
	} {
		t.Run(c.id, func(t *testing.T) { wantResult(t, w.ask(request(25, "completion/complete", c.params)), c.want) })
	}
}

func mistakes(t *testing.T, w wire) {
	t.Run("req/S001-52", func(t *testing.T) {
		wantError(t, w.ask(request(23, "invalid_method", `{}`)), -32601, "Method 'invalid_method' not found",
			`{"method":"invalid_method","reason":"Method not found"}`)
		wantError(t, w.ask(request(23, "unknown/method", "")), -32601, "Method 'unknown/method' not found",
			`{"method":"unknown/method","reason":"Method not found"}`)
	})
	t.Run("req/S001-53", func(t *testing.T) {
		wantError(t, w.ask(request(24, "tools/call", `{"name":"example_tool"}`)), -32602, "Invalid params",
			`{"details":"Missing required parameter: arguments"}`)
	})
}

func TestDocument001Versions(t *testing.T) {
	handshake := func(version string) string {
		return strings.Replace(initialize, `"2025-06-18"`, fmt.Sprintf("%q", version), 1)
	}
	over(t, example(t), func(t *testing.T, w wire) {
		t.Run("req/S001-54", func(t *testing.T) {
			m := w.ask(handshake("2020-01-01"))
			wantError(t, m, -32000, "Unsupported protocol version: 2020-01-01", "")
			var data struct {
				Supported []string
				Requested string
			}
			decode(t, m.Error.Data, &data)
			if join(data.Supported) != join(mcpserver.LegacyVersions) || data.Requested != "2020-01-01" {
				t.Errorf("data: %s", m.Error.Data)
			}
		})
	})
	for _, version := range mcpserver.LegacyVersions {
		t.Run("req/S001-55+S001-78/"+version, func(t *testing.T) {
			over(t, example(t), func(t *testing.T, w wire) {
				m := w.ask(handshake(version))
				var result struct{ ProtocolVersion string }
				decode(t, m.Result, &result)
				if result.ProtocolVersion != version {
					t.Fatalf("got %s", m.Raw)
				}
				w.tell(initialized)
				if got := textOf(t, w.ask(call(2, "example__example_tool", `{"param1":"x"}`))); got != "工具执行结果: x" {
					t.Errorf("a call at %s: %q", version, got)
				}
			})
		})
	}
	t.Run("req/S001-78/"+mcp.LatestModern, func(t *testing.T) {
		over(t, example(t), func(t *testing.T, w wire) {
			if h, ok := w.(*httpWire); ok {
				h.raw.Header.Set("Mcp-Protocol-Version", mcp.LatestModern)
				h.raw.Header.Set("Mcp-Method", "tools/call")
				h.raw.Header.Set("Mcp-Name", "example__example_tool")
			}
			m := w.ask(request(2, "tools/call", fmt.Sprintf(`{"name":"example__example_tool","arguments":{"param1":"x"},"_meta":{%q:%q,%q:{}}}`,
				mcp.MetaVersion, mcp.LatestModern, mcp.MetaCapabilities)))
			if got := textOf(t, m); got != "工具执行结果: x" || !strings.Contains(m.Raw, `"resultType":"complete"`) {
				t.Errorf("got %s", m.Raw)
			}
		})
	})
}

// TestDocument001Lines sends the one-liners as a person at a console would,
// without a handshake.
func TestDocument001Lines(t *testing.T) {
	t.Run("req/S001-3", func(t *testing.T) {
		over(t, example(t), func(t *testing.T, w wire) {
			wantResult(t, w.ask(call(16, "example_tool", `{"param1":"test_value"}`)),
				`{"content":[{"type":"text","text":"工具执行结果: test_value"}],"isError":false}`)
			wantResult(t, w.ask(request(11, "logging/setLevel", `{"level":"debug"}`)),
				`{"success":true,"level":"debug","message":"Log level set to debug"}`)
			wantError(t, w.ask(call(4, "nonexistent_tool", `{}`)), -32601, "Tool 'nonexistent_tool' not found", "")
		})
	})
	t.Run("req/S001-12", func(t *testing.T) {
		w := mcptest.GatewayStdio(t, example(t))
		m := w.Ask(`{"jsonrpc":"2.0","id":16,"method":"tools/call","params":{"name":"mcp-all-in-one-show-mcp-config","arguments":{}}}`)
		var shown struct {
			Config     struct{ McpServers map[string]json.RawMessage }
			ConfigPath string
		}
		decode(t, []byte(textOf(t, m)), &shown)
		if _, ok := shown.Config.McpServers["example"]; !ok || shown.ConfigPath == "" {
			t.Errorf("got %s", m.Raw)
		}
	})
}

// TestGolden001 compares every byte of the one-liners of the document.
func TestGolden001(t *testing.T) {
	config := `{"mcpServers":{"example":` + child(t, "-role", "example") + `},` +
		`"roots":[{"uri":"file:///Users/test/project","name":"test-project"},{"uri":"file:///Users/test/documents","name":"documents"}],` +
		`"answers":{"elicitation":{"fields":{"name":"张三"}}}}`
	over(t, config, func(t *testing.T, w wire) {
		start := time.Now()
		converse(t, w, "s001.txt")
		t.Run("req/S001-2", func(t *testing.T) {
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("the whole conversation took %v, a case of it may take 30 s", took)
			}
		})
	}, "--no-self-config")
}
