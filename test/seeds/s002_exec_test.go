package seeds

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
)

// everything is a result with one item of each kind, and unknown ones.
const everything = `{"content":[{"type":"text","text":"t","annotations":{"audience":["user"]}},{"type":"image","data":"QUJD","mimeType":"image/png"},` +
	`{"type":"audio","data":"QUJD","mimeType":"audio/wav"},{"type":"resource_link","uri":"x:1","name":"link"},` +
	`{"type":"resource","resource":{"uri":"x:2","text":"r"}}],"structuredContent":{"big":9007199254740993,"float":1.0},"isError":true,` +
	`"_meta":{"com.example/trace":"abc"},"x-unknown":[null]}`

func collector() *mcpserver.Server {
	s := mcpserver.New("collector")
	s.SetTools(mcpserver.Tool{
		Definition: `{"name":"everything","inputSchema":{"type":"object"}}`,
		Run:        func(context.Context, *mcpserver.Call) (any, error) { return json.RawMessage(everything), nil },
	}, mcpserver.Tool{
		Definition: `{"name":"show_meta","inputSchema":{"type":"object"}}`,
		Run: func(_ context.Context, c *mcpserver.Call) (any, error) {
			return mcpserver.Text("%s", c.Meta("com.example/mark")), nil
		},
	})
	return s
}

// compactConfig returns a config in one of the compact modes.
func compactConfig(mode, rest string, pairs ...string) string {
	return fmt.Sprintf(`{"mode":%q,"mcpServers":{%s}%s}`, mode, members(pairs), rest)
}

func TestExecLosesNothing(t *testing.T) {
	config := compactConfig("compact", "", "c", serve(t, collector()), "demo", child(t, "-role", "demo"))
	over(t, config, func(t *testing.T, w wire) {
		official := strings.Replace(initialize, `{"tools":{},"resources":{},"prompts":{},"logging":{}}`, `{"sampling":{},"elicitation":{},"roots":{}}`, 1)
		w.ask(official)
		w.tell(initialized)
		wantResult(t, w.ask(exec(2, "c", "everything", `{}`)), everything)
		m := w.ask(request(3, "tools/call", `{"name":"exec","arguments":{"server_name":"c","tool_name":"show_meta"},"_meta":{"com.example/mark":"kept"}}`))
		if got := textOf(t, m); got != `"kept"` {
			t.Errorf("_meta of the call: %q", got)
		}
		m = w.ask(request(4, "tools/call", `{"name":"exec","arguments":{"server_name":"demo","tool_name":"long_task","arguments":{"seconds":0.1,"steps":2}},"_meta":{"progressToken":"p"}}`))
		if got := textOf(t, m); got != "done after 2 steps" {
			t.Errorf("got %q", got)
		}
		for i := range 2 {
			sameJSON(t, "progress", string(w.hear("notifications/progress").Params),
				fmt.Sprintf(`{"progressToken":"p","progress":%d,"total":2,"message":"step %d of 2"}`, i+1, i+1))
		}
	})
}

func TestExecAsksAndStops(t *testing.T) {
	w := mcptest.GatewayStdio(t, compactConfig("compact", "", "demo", child(t, "-role", "demo")))
	w.Initialize("2025-06-18", `{"sampling":{},"elicitation":{},"roots":{}}`)
	for _, q := range []struct{ tool, arguments, method, answer, want string }{
		{"ask_name", `{}`, "elicitation/create", `{"action":"accept","content":{"name":"张三"}}`, "Hello, 张三!"},
		{"ask_model", `{"prompt":"?"}`, "sampling/createMessage", `{"role":"assistant","model":"m","content":{"type":"text","text":"42"}}`, "m says: 42"},
	} {
		w.Send(exec(7, "demo", q.tool, q.arguments))
		asked := w.Request(q.method)
		w.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, asked.ID, q.answer))
		if got := textOf(t, w.Answer("7")); got != q.want {
			t.Errorf("%s: got %q, want %q", q.tool, got, q.want)
		}
	}
	start := time.Now()
	w.Send(request(8, "tools/call", `{"name":"exec","arguments":{"server_name":"demo","tool_name":"long_task","arguments":{"seconds":600,"steps":6000}},"_meta":{"progressToken":1}}`))
	w.Notification("notifications/progress")
	w.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`)
	if code := w.Finish(patience); code != 0 || time.Since(start) > patience {
		t.Errorf("exit code %d after %v: the call was not cancelled", code, time.Since(start))
	}
	for _, line := range w.Unclaimed() {
		if strings.Contains(line, `"id":8`) {
			t.Errorf("a cancelled call was answered: %s", line)
		}
	}
}

func TestExecModern(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era+" server", func(t *testing.T) {
			over(t, compactConfig("compact", "", "demo", child(t, "-role", "demo", "-era", era)), func(t *testing.T, w wire) {
				modern := func(id int, more string) string {
					return request(id, "tools/call", fmt.Sprintf(`{"name":"exec","arguments":{"server_name":"demo","tool_name":"ask_name"}%s,"_meta":{%q:%q,%q:{"elicitation":{}}}}`,
						more, mcp.MetaVersion, mcp.LatestModern, mcp.MetaCapabilities))
				}
				if h, ok := w.(*httpWire); ok {
					h.raw.Header.Set("Mcp-Protocol-Version", mcp.LatestModern)
					h.raw.Header.Set("Mcp-Method", "tools/call")
					h.raw.Header.Set("Mcp-Name", "exec")
				}
				var round struct {
					ResultType, RequestState string
					InputRequests            map[string]struct{ Method string }
				}
				m := w.ask(modern(2, ""))
				decode(t, m.Result, &round)
				if round.ResultType != "input_required" || len(round.InputRequests) != 1 {
					t.Fatalf("got %s", m.Raw)
				}
				for key := range round.InputRequests {
					m = w.ask(modern(3, fmt.Sprintf(`,"inputResponses":{%q:{"action":"accept","content":{"name":"Ada"}}},"requestState":%q`, key, round.RequestState)))
				}
				if got := textOf(t, m); got != "Hello, Ada!" {
					t.Errorf("got %s", m.Raw)
				}
			})
		})
	}
}

// TestSearchMode searches in two languages, with typos, over servers of many
// kinds.
func TestSearchMode(t *testing.T) {
	s := mcpserver.New("office")
	var tools []mcpserver.Tool
	for name, about := range map[string]string{
		"send_email": "Send an email message to one or more recipients", "read_calendar": "List the events of a calendar",
		"create_invoice": "Create an invoice for a customer", "translate_text": "Translate a text into another language",
		"web_search": "Search the web for pages", "get_weather": "Get the weather forecast of a city",
		"query_database": "Run an SQL query against the database", "resize_image": "Change the size of a picture",
		"查询天气": "获取指定城市的天气预报", "发送短信": "向手机号码发送短信", "搜索地图": "在地图上搜索地点", "翻译文档": "将文档翻译成其他语言",
	} {
		tools = append(tools, mcpserver.Tool{
			Definition: fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{"input":{"type":"string"}}}}`, name, about),
			Run:        func(context.Context, *mcpserver.Call) (any, error) { return mcpserver.Text("%s", name), nil },
		})
	}
	s.SetTools(tools...)
	config := compactConfig("search", "", "office", serve(t, s), "example", child(t, "-role", "example", "-tools", "300"))
	over(t, config, func(t *testing.T, w wire) {
		list := w.ask(request(2, "tools/list", ""))
		if names := listed(t, list, "tools"); join(names) != "inspect exec" || len(list.Raw) > 4000 {
			t.Errorf("tools: %v, %d bytes", names, len(list.Raw))
		}
		for query, want := range map[string]string{
			"send an email": "send_email", "mail somebody": "send_email", "emial": "send_email", "calendar events": "read_calendar",
			"invoice": "create_invoice", "invioce customer": "create_invoice", "translate": "translate_text", "another language": "translate_text",
			"search the web": "web_search", "web pages": "web_search", "weather forecast": "get_weather", "wether city": "get_weather",
			"sql": "query_database", "databse query": "query_database", "picture size": "resize_image", "resize": "resize_image",
			"天气": "查询天气", "城市的天气预报": "查询天气", "发短信": "发送短信", "地图上的地点": "搜索地图", "翻译文档": "翻译文档",
		} {
			var found []mcpxTool
			decode(t, []byte(textOf(t, w.ask(inspect(3, `{"query":`+quoted(query)+`}`)))), &found)
			if len(found) == 0 || found[0].Name != want {
				t.Errorf("%q: found %d, want %s first: %+v", query, len(found), want, found[:min(len(found), 2)])
			}
		}
	})
}
