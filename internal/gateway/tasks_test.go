package gateway

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/upstream"
)

const taskTools = `{"tools":[{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`

// TestTasks passes tasks of 2025-11-25 through two servers that share an
// endpoint.
func TestTasks(t *testing.T) {
	results := func(task string) map[string]string {
		return map[string]string{
			mcp.MethodToolsList:  taskTools,
			mcp.MethodToolsCall:  `{"task":{"taskId":"` + task + `","status":"working"}}`,
			mcp.MethodTasksGet:   `{"taskId":"` + task + `","status":"completed"}`,
			mcp.MethodTasksList:  `{"tasks":[{"taskId":"` + task + `","status":"working"}]}`,
			"tasks/result":       `{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + task + `"}}}`,
			mcp.MethodPromptsGet: `{}`,
		}
	}
	caps := `{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`
	a, b := newRaw(t, caps, results("t1")), newRaw(t, caps, results("t1"))
	g := newGateway(t, map[string]string{"a": a.URL, "b": b.URL}, nil)
	s := open(t, g, "", mcp.V2025_11_25, `{}`)

	t.Run("bridge/H10", func(t *testing.T) {
		must.Contain(t, ask(t, s, mcp.MethodToolsCall, `{"name":"b__slow","task":{"ttl":1000}}`), `"taskId":"b~t1"`)
		must.Contain(t, b.sent(t, mcp.MethodToolsCall), `"task":{"ttl":1000}`)
		must.Contain(t, ask(t, s, mcp.MethodTasksGet, `{"taskId":"b~t1"}`), `"taskId":"b~t1"`)
		must.Contain(t, b.sent(t, mcp.MethodTasksGet), `"taskId":"t1"`)
		must.Contain(t, ask(t, s, mcp.MethodTasksResult, `{"taskId":"a~t1"}`), `"taskId":"a~t1"`)
		got := ask(t, s, mcp.MethodTasksList, `{}`)
		if !strings.Contains(got, "a~t1") || !strings.Contains(got, "b~t1") {
			t.Errorf("tasks/list answered %s", got)
		}
	})
	t.Run("bridge/H10 one server keeps its ids", func(t *testing.T) {
		one := open(t, g, "a", mcp.V2025_11_25, `{}`)
		must.Contain(t, ask(t, one, mcp.MethodToolsCall, `{"name":"slow","task":{}}`), `"taskId":"t1"`)
		must.Contain(t, ask(t, one, mcp.MethodTasksGet, `{"taskId":"t1"}`), `"taskId":"t1"`)
	})
	t.Run("bridge/H10 told by version only", func(t *testing.T) {
		for version, want := range map[string]bool{mcp.V2025_11_25: true, mcp.V2025_06_18: false} {
			caps := s.capabilities(t.Context(), requestClient{caller: s.caller, rules: mcp.Rules(version)})
			if has := strings.Contains(string(caps), `"tasks"`); has != want {
				t.Errorf("tasks for %s: %v, want %v", version, has, want)
			}
		}
		caps := s.capabilities(t.Context(), requestClient{caller: &upstream.Caller{Era: mcp.Modern}, rules: mcp.Rules(mcp.LatestModern)})
		if strings.Contains(string(caps), `"tasks"`) || !strings.Contains(string(caps), `"io.modelcontextprotocol/tasks"`) {
			t.Errorf("a modern client is told: %s", caps)
		}
	})
}

// TestTaskDriven calls a tool that runs only as a task. For clients without
// such tasks the gateway waits for the task; other clients get the task.
func TestTaskDriven(t *testing.T) {
	for _, tt := range []struct {
		version string
		driven  bool
		mode    string
	}{{mcp.V2024_11_05, true, ""}, {mcp.V2025_06_18, true, ""}, {mcp.V2025_11_25, false, ""}, {mcp.V2026_07_28, true, ""}, {mcp.V2026_07_28, true, "compact"}} {
		t.Run("bridge/H10 driven for "+tt.version+" "+tt.mode, func(t *testing.T) {
			r := newRaw(t, `{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}}`, map[string]string{
				mcp.MethodToolsList:   strings.Replace(taskTools, "optional", "required", 1),
				mcp.MethodToolsCall:   `{"task":{"taskId":"t1","status":"working"}}`,
				mcp.MethodTasksResult: `{"content":[{"type":"text","text":"done"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}`,
			})
			g := newGateway(t, map[string]string{"a": r.URL}, func(c *config.Config) { c.Schemas[0].Mode = tt.mode })
			s := opened(t, g, Opening{Who: access.Anonymous, Schema: config.DefaultSchema, Session: tt.version != mcp.LatestModern, Client: nobody{}})
			call := `{"name":"a__slow","arguments":{}}`
			if tt.mode == "compact" {
				call = `{"name":"exec","arguments":{"server_name":"a","tool_name":"slow"}}`
			}
			if tt.version == mcp.LatestModern {
				call = strings.TrimSuffix(call, "}") + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
			} else {
				ask(t, s, mcp.MethodInitialize, `{"protocolVersion":"`+tt.version+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
			}
			got := ask(t, s, mcp.MethodToolsCall, call)
			if !tt.driven {
				must.Contain(t, got, `"taskId":"a~t1"`)
				return
			}
			if !strings.Contains(got, "done") || strings.Contains(got, "t1") {
				t.Errorf("answered %s", got)
			}
			must.Contain(t, r.sent(t, mcp.MethodToolsCall), `"task":{}`)
			must.Contain(t, r.sent(t, mcp.MethodTasksResult), `"taskId":"t1"`)
		})
	}
}

// told is a client that stores its notifications.
type told struct {
	nobody
	notes chan string
}

func (c told) Notify(_ context.Context, n *jsonrpc.Notification) error {
	c.notes <- n.Method + " " + string(n.Params)
	return nil
}

func (told) RequestID() []byte { return []byte("7") }

// next waits for the next notification of a method.
func (c told) next(t *testing.T, method string) string {
	t.Helper()
	timeout := time.After(5 * time.Second)
	for {
		select {
		case note := <-c.notes:
			if params, ok := strings.CutPrefix(note, method+" "); ok {
				return params
			}
		case <-timeout:
			t.Fatalf("nobody said %s", method)
		}
	}
}

// TestTaskNotifications has a modern client listen to tasks of two servers with
// the same task id.
func TestTaskNotifications(t *testing.T) {
	modern := func() *raw {
		r := newRaw(t, `{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`, map[string]string{mcp.MethodToolsList: taskTools})
		r.speak(mcp.LatestModern)
		return r
	}
	old := newRaw(t, `{"tools":{},"tasks":{}}`, map[string]string{mcp.MethodToolsList: taskTools})
	for _, at := range []struct{ endpoint, prefix string }{{"", "b~"}, {"b", ""}} {
		t.Run("bridge/H10 notifications at "+at.endpoint, func(t *testing.T) {
			a, b := modern(), modern()
			g := newGateway(t, map[string]string{"a": a.URL, "b": b.URL, "old": old.URL}, nil)
			s := opened(t, g, Opening{Who: access.Anonymous, Schema: config.DefaultSchema, Server: at.endpoint, Client: nobody{}})
			client := told{notes: make(chan string, 100)}
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			defer wg.Wait()
			defer cancel()
			wg.Go(func() {
				s.Handle(ctx, client, &jsonrpc.Request{Method: mcp.MethodListen, Params: []byte(`{"notifications":{"taskIds":["` + at.prefix + `t1","old~t1","gone~t1"]},"_meta":{` +
					`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}`)})
			})
			want := `"taskIds":["` + at.prefix + `t1"`
			if ack := client.next(t, mcp.NotificationListening); !strings.Contains(ack, want) || at.endpoint == "" && (strings.Contains(ack, "gone") || strings.Contains(ack, "old")) {
				t.Errorf("honoured: %s", ack)
			}
			b.say(`notifications/tasks "taskId":"t1","status":"completed"`)
			if note := client.next(t, mcp.NotificationTasks); note != `{"taskId":"`+at.prefix+`t1","status":"completed","_meta":{"io.modelcontextprotocol/subscriptionId":7}}` {
				t.Errorf("told %s", note)
			}
		})
	}
	t.Run("bridge/H10 not without the extension", func(t *testing.T) {
		g := newGateway(t, map[string]string{"b": modern().URL}, nil)
		s := opened(t, g, Opening{Who: access.Anonymous, Schema: config.DefaultSchema, Client: nobody{}})
		client := told{notes: make(chan string, 100)}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		wg.Go(func() {
			s.Handle(ctx, client, &jsonrpc.Request{Method: mcp.MethodListen, Params: []byte(`{"notifications":{"taskIds":["b~t1"]},"_meta":{` +
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`)})
		})
		if ack := client.next(t, mcp.NotificationListening); strings.Contains(ack, "taskIds") {
			t.Errorf("honoured: %s", ack)
		}
	})
}

// TestApps checks that the gateway keeps what an app needs: its tool names and
// metadata.
func TestApps(t *testing.T) {
	const tool = `{"name":"get-time","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://time/app.html"}}}`
	const forApp = `{"name":"set-zone","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["app"]}}}`
	r := newRaw(t, `{"tools":{},"resources":{},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`, map[string]string{
		mcp.MethodToolsList:     `{"tools":[` + tool + `,` + forApp + `]}`,
		mcp.MethodResourcesList: `{"resources":[{"uri":"ui://time/app.html","name":"app"}]}`,
		mcp.MethodTemplatesList: `{"resourceTemplates":[]}`,
		mcp.MethodToolsCall:     `{"content":[{"type":"text","text":"noon"}]}`,
		mcp.MethodResourcesRead: `{"contents":[{"uri":"ui://time/app.html","mimeType":"text/html;profile=mcp-app","text":"<html>","_meta":{"ui":{"csp":{}}}}]}`,
	})
	g := newGateway(t, map[string]string{"time": r.URL}, nil)
	s := open(t, g, "", mcp.V2025_11_25, `{"extensions":{"io.modelcontextprotocol/ui":{}}}`)
	t.Run("bridge/H16", func(t *testing.T) {
		must.Contain(t, ask(t, s, mcp.MethodToolsList, `{}`), `"_meta":{"ui":{"resourceUri":"ui://time/app.html"}}`)
		must.Contain(t, ask(t, s, mcp.MethodToolsCall, `{"name":"get-time","arguments":{}}`), "noon")
		must.Contain(t, ask(t, s, mcp.MethodResourcesRead, `{"uri":"ui://time/app.html"}`), `"_meta":{"ui":{"csp":{}}}`)
		if caps := s.capabilities(t.Context(), requestClient{caller: s.caller, rules: s.rules}); !strings.Contains(string(caps), "io.modelcontextprotocol/ui") {
			t.Errorf("the extension is not told: %s", caps)
		}
		if caps := s.capabilities(t.Context(), requestClient{caller: &upstream.Caller{}, rules: s.rules}); strings.Contains(string(caps), "io.modelcontextprotocol/ui") {
			t.Errorf("the extension is told to who did not announce it: %s", caps)
		}
		if got := ask(t, s, mcp.MethodToolsList, `{}`); !strings.Contains(got, "set-zone") {
			t.Errorf("a client that shows apps does not see a tool for apps: %s", got)
		}
		modern := `{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + mcp.LatestModern + `","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/ui":{}}}}}`
		if got := ask(t, as(t, g, access.Local, mcp.LatestModern), mcp.MethodToolsList, modern); !strings.Contains(got, "set-zone") {
			t.Errorf("a modern client that shows apps does not see a tool for apps: %s", got)
		}
		plain := open(t, g, "", mcp.V2025_11_25, `{}`)
		if got := ask(t, plain, mcp.MethodToolsList, `{}`); strings.Contains(got, "set-zone") {
			t.Errorf("a client without apps sees a tool for apps: %s", got)
		}
	})
}
