package seeds

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
)

func TestDocument001Levels(t *testing.T) {
	over(t, example(t), func(t *testing.T, w wire) {
		shake(t, w)
		for id, level := range map[string]string{"S001-20": "debug", "S001-21": "info", "S001-22": "warn", "S001-23": "error"} {
			t.Run("req/"+id, func(t *testing.T) {
				wantResult(t, w.ask(request(11, "logging/setLevel", fmt.Sprintf(`{"level":%q}`, level))),
					fmt.Sprintf(`{"success":true,"level":%q,"message":"Log level set to %s"}`, level, level))
			})
		}
		for id, bad := range map[string][2]string{
			"S001-24": {`{"level":"invalid_level"}`, "invalid_level"}, "S001-25": {`{}`, "undefined"},
			"S001-26": {`{"level":""}`, ""}, "S001-27": {`{"level":null}`, "null"},
		} {
			t.Run("req/"+id, func(t *testing.T) {
				m := w.ask(request(15, "logging/setLevel", bad[0]))
				wantError(t, m, -32603, "Invalid log level: "+bad[1]+". Valid levels are: debug, info, warn, error", "")
				if !strings.Contains(string(m.Error.Data), "emergency") {
					t.Errorf("data does not list all levels: %s", m.Error.Data)
				}
			})
		}
		for _, level := range []string{"notice", "warning", "critical", "alert", "emergency"} {
			if m := w.ask(request(15, "logging/setLevel", fmt.Sprintf(`{"level":%q}`, level))); m.Error != nil {
				t.Errorf("level %s of the specification: %s", level, m.Raw)
			}
		}
	})
}

// TestDialects compares the few responses that differ for a client that
// declares the same as the official libraries.
func TestDialects(t *testing.T) {
	official := strings.Replace(initialize, `{"tools":{},"resources":{},"prompts":{},"logging":{}}`, `{"roots":{"listChanged":true},"sampling":{}}`, 1)
	over(t, serversConfig("demo", child(t, "-role", "demo")), func(t *testing.T, w wire) {
		hello := w.ask(official)
		w.tell(initialized)
		if strings.Contains(hello.Raw, `"roots"`) || strings.Contains(hello.Raw, `"sampling"`) {
			t.Errorf("a server declares what only clients have: %s", hello.Raw)
		}
		wantResult(t, w.ask(request(2, "logging/setLevel", `{"level":"debug"}`)), `{}`)
		wantError(t, w.ask(request(3, "logging/setLevel", `{"level":"loud"}`)), -32602,
			"Invalid log level: loud. Valid levels are: debug, info, warn, error", "")
		wantError(t, w.ask(call(4, "nonexistent_tool", `{}`)), -32602, "Tool 'nonexistent_tool' not found", `{"tool":"nonexistent_tool"}`)
		wantResult(t, w.ask(call(5, "demo__echo", `{"message":"x"}`)), `{"content":[{"type":"text","text":"x"}]}`)
	})
	for compat, want := range map[string]string{"seed": `{"success":true,"level":"info","message":"Log level set to info"}`, "spec": `{}`} {
		t.Run("compat "+compat, func(t *testing.T) {
			over(t, example(t), func(t *testing.T, w wire) {
				w.ask(official)
				wantResult(t, w.ask(request(2, "logging/setLevel", `{"level":"info"}`)), want)
			}, "--compat", compat)
		})
	}
}

func TestDocument001OwnLog(t *testing.T) {
	w := mcptest.GatewayStdio(t, example(t))
	shake(t, stdioWire{w})
	level := func(name string) { w.Ask(request(19, "logging/setLevel", fmt.Sprintf(`{"level":%q}`, name))) }
	t.Run("req/S001-28", func(t *testing.T) {
		level("debug")
		before := len(w.Stderr())
		w.Ask(request(20, "tools/list", `{}`))
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for end := time.Now().Add(15 * time.Second); ; <-tick.C { // the log is another pipe than the response
			news := w.Stderr()[before:]
			// A line of a lower level that is written late would fail the next test.
			if strings.Contains(news, "level=DEBUG") && strings.Contains(news, "tools/list") && strings.Contains(w.Stderr(), "upstream connected") {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the log after tools/list: %q", news)
			}
		}
	})
	t.Run("req/S001-29", func(t *testing.T) {
		level("error")
		w.Ask(request(21, "ping", `{}`)) // logs from before the level change have arrived by now
		before := len(w.Stderr())
		w.Ask(request(22, "tools/list", `{}`))
		w.Ask(call(23, "example_tool", `{"param1":"x"}`))
		if news := w.Stderr()[before:]; strings.Contains(news, "level=") && !strings.Contains(news, "level=ERROR") {
			t.Errorf("the log at level error: %q", news)
		}
	})
}

func TestDocument001Roots(t *testing.T) {
	const roots = `[{"uri":"file:///Users/test/project","name":"test-project"},{"uri":"file:///Users/test/documents","name":"documents"}]`
	t.Run("req/S001-43", func(t *testing.T) {
		config := `{"mcpServers":{"example":` + child(t, "-role", "example") + `},"roots":` + roots + `}`
		over(t, config, func(t *testing.T, w wire) {
			shake(t, w)
			wantResult(t, w.ask(request(28, "roots/list", "")), `{"roots":`+roots+`}`)
		})
	})
	t.Run("req/S001-43/none", func(t *testing.T) {
		over(t, example(t), func(t *testing.T, w wire) { wantResult(t, w.ask(request(28, "roots/list", "")), `{"roots":[]}`) })
	})
	t.Run("req/S001-44", func(t *testing.T) {
		told := make(chan struct{})
		var once sync.Once
		handler, stop := mcptest.ExampleServer(0, 1).HTTP("")
		front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			if strings.Contains(string(body), `"notifications/roots/list_changed"`) {
				once.Do(func() { close(told) })
			}
			handler.ServeHTTP(rw, r)
		}))
		t.Cleanup(func() { stop(); front.Close() })
		w := mcptest.GatewayStdio(t, serversConfig("example", fmt.Sprintf(`{"type":"http","url":%q}`, front.URL+"/mcp")))
		w.Initialize("2025-06-18", `{"roots":{"listChanged":true}}`)
		w.Ask(request(2, "tools/list", ""))
		w.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		select {
		case <-told:
		case <-t.Context().Done():
			t.Fatal("the server never heard of it")
		}
		if rest := w.Unclaimed(); len(rest) > 0 {
			t.Errorf("a client was told: %q", rest)
		}
	})
}

// A model answers chat completions like an OpenAI-compatible backend.
func model(t *testing.T, asked *string) string {
	t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = string(body)
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer model-key" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		io.WriteString(w, `{"model":"gpt-4","choices":[{"message":{"role":"assistant","content":"人工智能（AI）是计算机科学的一个分支..."},"finish_reason":"length"}]}`)
	}))
	t.Cleanup(front.Close)
	return front.URL + "/v1"
}

const sampling = `{"messages":[{"role":"user","content":{"type":"text","text":"请简单介绍一下人工智能"}}],"modelPreferences":` +
	`{"hints":[{"name":"gpt-4"}],"costPriority":0.5,"speedPriority":0.3,"intelligencePriority":0.8},"systemPrompt":"你是一个有用的AI助手。",` +
	`"includeContext":"thisServer","temperature":0.7,"maxTokens":100,"stopSequences":["\n\n","###"],"metadata":{"requestId":"test-sampling-1"}}`

const samplingImage = `{"messages":[{"role":"user","content":[{"type":"text","text":"请描述这张图片的内容"},{"type":"image","data":` +
	`"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChAI9jU77yQAAAABJRU5ErkJggg==","mimeType":"image/png"}]}],"maxTokens":50}`

func TestDocument001Sampling(t *testing.T) {
	var asked string
	t.Setenv("MODEL_KEY", "model-key")
	config := `{"mcpServers":{"example":` + child(t, "-role", "example") + `},"sampling":{"url":"` + model(t, &asked) + `","model":"gpt-4","key":"${MODEL_KEY}"}}`
	over(t, config, func(t *testing.T, w wire) {
		shake(t, w)
		const answer = `{"role":"assistant","content":{"type":"text","text":"人工智能（AI）是计算机科学的一个分支..."},"model":"gpt-4","stopReason":"maxTokens"}`
		t.Run("req/S001-45", func(t *testing.T) {
			wantResult(t, w.ask(request(29, "sampling/createMessage", sampling)), answer)
			sameJSON(t, "what the model was asked", asked, `{"model":"gpt-4","max_tokens":100,"temperature":0.7,"stop":["\n\n","###"],"messages":`+
				`[{"role":"system","content":"你是一个有用的AI助手。"},{"role":"user","content":"请简单介绍一下人工智能"}]}`)
		})
		t.Run("req/S001-46", func(t *testing.T) {
			wantResult(t, w.ask(request(30, "sampling/createMessage", samplingImage)), answer)
			if !strings.Contains(asked, `"data:image/png;base64,iVBOR`) {
				t.Errorf("the model was asked %s", asked)
			}
		})
	})
	t.Run("req/S001-45/nobody", func(t *testing.T) {
		over(t, example(t), func(t *testing.T, w wire) {
			m := w.ask(request(29, "sampling/createMessage", sampling))
			wantError(t, m, -32601, "Method 'sampling/createMessage' not found", "")
			if !strings.Contains(string(m.Error.Data), "answers.sampling") {
				t.Errorf("data: %s", m.Error.Data)
			}
		})
	})
}

func TestDocument001Elicitation(t *testing.T) {
	config := `{"mcpServers":{"example":` + child(t, "-role", "example") + `},"answers":{"elicitation":{"fields":` +
		`{"name":"张三","timeout":60,"logLevel":"info","host":"postgres://db.example","database":"main"}}}}`
	form := func(properties, required string) string {
		return fmt.Sprintf(`{"message":"?","requestedSchema":{"type":"object","properties":{%s},"required":[%s]}}`, properties, required)
	}
	over(t, config, func(t *testing.T, w wire) {
		shake(t, w)
		for _, c := range []struct{ id, params, content string }{
			{"req/S001-47", form(`"name":{"type":"string","title":"姓名","description":"请输入您的姓名","minLength":1,"maxLength":50}`, `"name"`), `{"name":"张三"}`},
			{"req/S001-48", form(`"timeout":{"type":"integer","title":"超时时间","minimum":1,"maximum":3600}`, `"timeout"`), `{"timeout":60}`},
			{"req/S001-49", form(`"debugMode":{"type":"boolean","title":"调试模式","default":false}`, `"debugMode"`), `{"debugMode":false}`},
			{"req/S001-50", form(`"logLevel":{"type":"string","enum":["debug","info","warn","error"],"enumNames":["调试","信息","警告","错误"]}`, `"logLevel"`), `{"logLevel":"info"}`},
			{"req/S001-51", form(`"host":{"type":"string","format":"uri"},"port":{"type":"integer","minimum":1,"maximum":65535,"default":5432},`+
				`"database":{"type":"string","minLength":1},"sslEnabled":{"type":"boolean","default":true}`, `"host","database"`),
				`{"host":"postgres://db.example","port":5432,"database":"main","sslEnabled":true}`},
		} {
			t.Run(c.id, func(t *testing.T) {
				wantResult(t, w.ask(request(31, "elicitation/create", c.params)), `{"action":"accept","content":`+c.content+`}`)
			})
		}
		t.Run("req/S001-48/out of range", func(t *testing.T) {
			m := w.ask(request(32, "elicitation/create", form(`"timeout":{"type":"integer","maximum":10}`, `"timeout"`)))
			wantError(t, m, -32601, "Method 'elicitation/create' not found", "")
		})
	})
}

// TestQuestions tests the direction of the specification: a server asks, and
// the client of the running call answers.
func TestQuestions(t *testing.T) {
	w := mcptest.GatewayStdio(t, serversConfig("demo", child(t, "-role", "demo")))
	w.Initialize("2025-06-18", `{"tools":{},"sampling":{},"elicitation":{},"roots":{}}`)
	for _, q := range []struct{ tool, arguments, method, answer, want string }{
		{"ask_name", `{}`, "elicitation/create", `{"action":"accept","content":{"name":"张三"}}`, "Hello, 张三!"},
		{"ask_model", `{"prompt":"?"}`, "sampling/createMessage", `{"role":"assistant","model":"m","content":{"type":"text","text":"42"}}`, "m says: 42"},
		{"show_roots", `{}`, "roots/list", `{"roots":[{"uri":"file:///a","name":"a"}]}`, "1 roots\nfile:///a"},
	} {
		w.Send(call(7, "demo__"+q.tool, q.arguments))
		asked := w.Request(q.method)
		w.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, asked.ID, q.answer))
		if got := textOf(t, w.Answer("7")); got != q.want {
			t.Errorf("%s: got %q, want %q", q.tool, got, q.want)
		}
	}
	// The gateway answers with what the client told it last.
	wantResult(t, w.Ask(request(8, "roots/list", "")), `{"roots":[{"uri":"file:///a","name":"a"}]}`)
}

// talker returns a tool that sends what the document shows.
func talker() mcpserver.Tool {
	return mcpserver.Tool{
		Definition: `{"name":"talk","inputSchema":{"type":"object"}}`,
		Run: func(ctx context.Context, c *mcpserver.Call) (any, error) {
			c.Progress(ctx, 0.5, 100, "正在处理中...")
			c.Log(ctx, "info", "test-logger", "这是一条测试日志消息")
			c.Log(ctx, "error", "error-logger", json.RawMessage(`{"error":"测试错误","code":500,"details":"错误详细信息"}`))
			return mcpserver.Text("said"), nil
		},
	}
}

func TestDocument001Notifications(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			server := mcptest.ExampleServer(0, 1)
			server.SetTools(talker())
			config := serversConfig("example", serve(t, server))
			var w wire
			if transport == "stdio" {
				w = stdioWire{mcptest.GatewayStdio(t, config)}
			} else {
				w = newHTTPWire(t, mcptest.Gateway(t, config).URL+"/mcp")
			}
			shake(t, w)
			w.ask(request(2, "tools/list", ""))
			w.ask(request(3, "tools/call", `{"name":"talk","arguments":{},"_meta":{"progressToken":"token123"}}`))
			t.Run("req/S001-32", func(t *testing.T) {
				sameJSON(t, "params", string(w.hear("notifications/progress").Params),
					`{"progressToken":"token123","progress":0.5,"total":100,"message":"正在处理中..."}`)
			})
			t.Run("req/S001-38", func(t *testing.T) {
				sameJSON(t, "params", string(w.hear("notifications/message").Params),
					`{"level":"info","logger":"test-logger","data":"这是一条测试日志消息"}`)
			})
			t.Run("req/S001-39", func(t *testing.T) {
				sameJSON(t, "params", string(w.hear("notifications/message").Params),
					`{"level":"error","logger":"error-logger","data":{"error":"测试错误","code":500,"details":"错误详细信息"}}`)
			})
			w.ask(request(8, "resources/subscribe", `{"uri":"example://test/resource1"}`))
			t.Run("req/S001-35", func(t *testing.T) {
				server.Updated("example://test/resource1")
				sameJSON(t, "params", string(w.hear("notifications/resources/updated").Params), `{"uri":"example://test/resource1"}`)
			})
			for id, change := range map[string]struct {
				method string
				run    func()
			}{
				"S001-34": {"notifications/resources/list_changed", func() { server.SetResources() }},
				"S001-36": {"notifications/tools/list_changed", func() { server.SetTools(mcpserver.EchoTool()) }},
				"S001-37": {"notifications/prompts/list_changed", func() { server.SetPrompts() }},
			} {
				t.Run("req/"+id, func(t *testing.T) {
					change.run()
					if m := w.hear(change.method); m.Params != nil {
						t.Errorf("got %s", m.Raw)
					}
				})
			}
		})
	}
}
