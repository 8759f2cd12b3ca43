package web

import (
	"encoding/json"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/tester/history"
	"mcp-all-in-one/internal/web/api"
	"mcp-all-in-one/internal/web/bench"
	"mcp-all-in-one/internal/web/inbox"
)

// openBody is the page's request to open a session.
type openBody struct {
	Target  bench.Target `json:"target"`
	Confirm string       `json:"confirm"`
}

func (c *console) open(server string) string {
	c.Helper()
	var b struct{ ID string }
	must.Parse(c, c.want(200, "POST", "bench", openBody{Target: bench.Target{Server: server}}), &b)
	return b.ID
}

// call runs a call and waits for its end.
func (c *console) call(bench, method, params string) history.Run {
	c.Helper()
	return c.wait(c.begin(bench, method, params))
}

func (c *console) begin(bench, method, params string) string {
	c.Helper()
	body := map[string]any{"method": method}
	if params != "" {
		body["params"] = json.RawMessage(params)
	}
	var run history.Run
	must.Parse(c, c.want(202, "POST", "bench/"+bench+"/calls", body), &run)
	return run.ID
}

func (c *console) wait(run string) history.Run {
	c.Helper()
	var got history.Run
	c.await("the end of "+run, func() bool {
		c.get("runs/"+run, &got)
		return got.Status != "running"
	})
	return got
}

func TestBenchCalls(t *testing.T) {
	c := start(t).login(api.ScopeCall)
	b := c.open("demo")
	if again := c.open("demo"); again != b {
		t.Errorf("a second tab opened %s beside %s", again, b)
	}
	run := c.call(b, "tools/call", `{"name":"add","arguments":{"a":9007199254740993,"b":1}}`)
	if run.Status != "ok" || run.Name != "add" || run.TrafficID == 0 {
		t.Errorf("run = %+v", run)
	}
	if !strings.Contains(string(run.Params), "9007199254740993") {
		t.Errorf("a large integer changed: %s", run.Params)
	}
	if body := c.want(200, "GET", "runs/"+run.ID+"/body", nil); !strings.Contains(string(body), "structuredContent") {
		t.Errorf("body = %s", body)
	}
	if part := c.want(206, "GET", "runs/"+run.ID+"/body", nil, "Range", "bytes=0-0"); string(part) != "{" {
		t.Errorf("range = %q", part)
	}
	var wire []history.WireFrame
	c.get("runs/"+run.ID+"/body?part=wire", &wire)
	if len(wire) != 2 || !wire[0].Sent {
		t.Errorf("wire = %+v", wire)
	}
	if got := c.call(b, "tools/call", `{"name":"fail"}`); got.Status != "tool_error" {
		t.Errorf("a failing tool = %q", got.Status)
	}
	if got := c.call(b, "no/such", ""); got.Status != "error" || !strings.Contains(string(got.Error), "-32601") {
		t.Errorf("an unknown method = %+v", got)
	}
	if got := c.call(b, "ping", ""); got.Status != "ok" {
		t.Errorf("ping = %+v", got)
	}
	c.want(400, "POST", "bench/"+b+"/calls", map[string]any{"method": "ping", "params": []int{1}})
	c.want(204, "DELETE", "bench/"+b, nil)
	c.want(404, "GET", "bench/"+b, nil)
}

func TestBenchLists(t *testing.T) {
	c := start(t).login(api.ScopeCall)
	b := c.open("prompts")
	for kind, want := range map[string]int{"tools": 21, "resources": 2, "templates": 2, "prompts": 2} {
		var list struct{ Items []json.RawMessage }
		c.get("bench/"+b+"/list/"+kind, &list)
		if len(list.Items) != want {
			t.Errorf("%d %s, want %d", len(list.Items), kind, want)
		}
	}
	c.want(404, "GET", "bench/"+b+"/list/spoons", nil)
	c.want(200, "GET", "bench", nil)
}

func TestBenchSaysWhyItCannotConnect(t *testing.T) {
	c := start(t).login(api.ScopeAdmin)
	body := openBody{Target: bench.Target{Command: "missing", Env: map[string]string{"TOKEN": "x"}}, Confirm: "missing"}
	var got struct {
		api.Refusal
		Lines []string
	}
	must.Parse(t, c.want(502, "POST", "bench", body), &got)
	if !strings.Contains(got.Error.Message, "no such file") || len(got.Lines) != 1 {
		t.Errorf("refusal = %+v", got)
	}
}

func TestBenchProgressAndCancel(t *testing.T) {
	c := start(t).login(api.ScopeCall)
	b := c.open("demo")
	run := c.begin(b, "tools/call", `{"name":"long_task","arguments":{"seconds":60,"steps":3000}}`)
	c.events("topics=bench", "", func(event, data, _ string) bool {
		return strings.Contains(data, `"type":"progress"`) && strings.Contains(data, run)
	})
	c.want(204, "DELETE", "bench/"+b+"/calls/"+run, nil)
	if got := c.wait(run); got.Status != "cancelled" {
		t.Errorf("run = %+v", got)
	}
	c.want(410, "DELETE", "bench/"+b+"/calls/"+run, nil)
}

func TestBenchTimeout(t *testing.T) {
	c := start(t).login(api.ScopeCall)
	b := c.open("demo")
	for _, limits := range []map[string]any{{"idle": 20}, {"limit": 20}} {
		limits["method"] = "tools/call"
		limits["params"] = json.RawMessage(`{"name":"long_task","arguments":{"seconds":60,"steps":1}}`)
		var run history.Run
		must.Parse(t, c.want(202, "POST", "bench/"+b+"/calls", limits), &run)
		if got := c.wait(run.ID); got.Status != "timeout" {
			t.Errorf("run = %+v", got)
		}
	}
}

func TestPromptWithoutArgumentsSucceeds(t *testing.T) {
	c := start(t).login(api.ScopeCall)
	b := c.open("prompts")
	t.Run("req/S004-2", func(t *testing.T) {
		run := c.call(b, "prompts/get", `{"name":"no_arguments","arguments":{}}`)
		var wire []history.WireFrame
		c.get("runs/"+run.ID+"/body?part=wire", &wire)
		if run.Status != "ok" || !strings.Contains(wire[0].Body, `"method":"prompts/get","params":{"name":"no_arguments"}}`) {
			t.Errorf("run = %+v, wire = %+v", run, wire)
		}
	})
}

func TestInboxAnswersTheServer(t *testing.T) {
	c := start(t).login(api.ScopeCall)
	b := c.open("demo")
	for _, tt := range []struct{ tool, kind, answer, want string }{
		{`{"name":"ask_name"}`, "elicitation", `{"action":"accept","content":{"name":"Ada"}}`, "Hello, Ada!"},
		{`{"name":"ask_name"}`, "elicitation", `{"action":"decline"}`, "No name: decline."},
		{`{"name":"ask_model","arguments":{"prompt":"hi"}}`, "sampling",
			`{"action":"accept","content":{"role":"assistant","model":"me","content":{"type":"text","text":"hello"}}}`, "me says: hello"},
		{`{"name":"ask_model","arguments":{"prompt":"hi"}}`, "sampling", `{"action":"decline"}`, "rejected"},
	} {
		t.Run(tt.kind+" "+tt.want, func(t *testing.T) {
			run := c.begin(b, "tools/call", tt.tool)
			var waiting []inbox.Question
			c.await("the question", func() bool {
				c.get("inbox", &waiting)
				return len(waiting) == 1
			})
			if waiting[0].Kind != tt.kind || waiting[0].Server != "demo" {
				t.Errorf("question = %+v", waiting[0])
			}
			c.want(400, "POST", "inbox/"+waiting[0].ID, map[string]string{"action": "shrug"})
			c.want(204, "POST", "inbox/"+waiting[0].ID, json.RawMessage(tt.answer))
			c.want(410, "POST", "inbox/"+waiting[0].ID, json.RawMessage(tt.answer))
			c.wait(run)
			if body := c.want(200, "GET", "runs/"+run+"/body", nil); !strings.Contains(string(body), tt.want) {
				t.Errorf("result = %s", body)
			}
		})
	}
}

func TestRoots(t *testing.T) {
	c := start(t).login(api.ScopeCall)
	b := c.open("demo")
	c.want(204, "PUT", "bench/"+b+"/roots", map[string]any{"roots": []config.Root{{URI: "file:///home"}}})
	if again := c.open("demo"); again != b {
		t.Errorf("the session with its roots was left for %s", again)
	}
	run := c.call(b, "tools/call", `{"name":"show_roots"}`)
	if body := c.want(200, "GET", "runs/"+run.ID+"/body", nil); !strings.Contains(string(body), "file:///home") {
		t.Errorf("result = %s", body)
	}
}

func TestHistory(t *testing.T) {
	dir := t.TempDir()
	c := start(t, func(o *Options) { o.StateDir = dir }).login(api.ScopeCall)
	b := c.open("demo")
	first := c.call(b, "tools/call", `{"name":"echo","arguments":{"message":"one"}}`)
	c.call(b, "tools/call", `{"name":"fail"}`)
	quiet := c.want(202, "POST", "bench/"+b+"/calls", map[string]any{"method": "ping", "quiet": true})
	c.wait(string(jsonrpc.Get(quiet, "id")[1:13]))
	var runs []history.Run
	c.get("runs?name=echo", &runs)
	if len(runs) != 1 || runs[0].ID != first.ID {
		t.Errorf("runs = %+v", runs)
	}
	c.call(b, "tools/call", `{"name":"echo","arguments":{"message":"hush-hush"}}`)
	exported := c.want(200, "GET", "runs?export", nil)
	if strings.Contains(string(exported), "hush-hush") || !strings.Contains(string(exported), `"message":"***"`) {
		t.Errorf("exported = %s", exported)
	}
	must.OK(t, c.h.Close())

	again := start(t, func(o *Options) { o.StateDir = dir }).login(api.ScopeCall)
	again.get("runs", &runs)
	if len(runs) != 3 || runs[2].ID != first.ID || !runs[2].Kept {
		t.Errorf("after a restart = %+v", runs)
	}
	again.want(204, "DELETE", "runs", nil)
	again.get("runs", &runs)
	if len(runs) != 0 {
		t.Errorf("after forgetting = %+v", runs)
	}
	again.want(200, "POST", "runs", json.RawMessage(exported))
	var back []history.KeptRun
	if err := json.Unmarshal(again.want(200, "GET", "runs?export", nil), &back); err != nil || len(back) != 3 {
		t.Errorf("imported = %+v, %v", back, err)
	}
	again.want(400, "POST", "runs", []map[string]any{{"id": ""}})
}

// TestBenchTargetIsSmall checks that a session does not keep a large target.
func TestBenchTargetIsSmall(t *testing.T) {
	c := start(t).login(api.ScopeCall)
	target := bench.Target{Server: "demo", ClientName: strings.Repeat("a", 1<<20)}
	if text := c.want(413, "POST", "bench", openBody{Target: target}); !strings.Contains(string(text), "target") {
		t.Errorf("%s", text)
	}
}

// TestBenchRootsAreSmall checks that the roots of a session count in its target.
func TestBenchRootsAreSmall(t *testing.T) {
	c := start(t).login(api.ScopeCall)
	b := c.open("demo")
	large := []config.Root{{URI: "file:///" + strings.Repeat("a", 1<<20)}}
	if text := c.want(413, "PUT", "bench/"+b+"/roots", map[string]any{"roots": large}); !strings.Contains(string(text), "target") {
		t.Errorf("%s", text)
	}
	run := c.call(b, "tools/call", `{"name":"show_roots"}`)
	if body := c.want(200, "GET", "runs/"+run.ID+"/body", nil); strings.Contains(string(body), "aaaa") {
		t.Errorf("the server got the roots: %.200s", body)
	}
}
