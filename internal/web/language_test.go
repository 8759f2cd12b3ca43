package web

import (
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/tester/history"
	"mcp-all-in-one/internal/web/api"
)

// TestRefusalsInBothLanguages makes requests that are refused, in each
// language.
func TestRefusalsInBothLanguages(t *testing.T) {
	c := start(t).login(api.ScopeAdmin)
	for _, tt := range []struct {
		status         int
		method, path   string
		body           any
		english, other string
	}{
		{400, "GET", "traffic?q=none:x", nil, `filter term "none:x": unknown field "none"`, `过滤条件 "none:x"：未知的字段 "none"`},
		{400, "POST", "inbox/none", map[string]int{"none": 1}, `reading the request: json: unknown field "none"`, `读取请求失败：json: unknown field "none"`},
		{404, "GET", "runs/none", nil, "this run is no longer kept", "这次运行已不再保留"},
		{404, "GET", "none", nil, "no such part of the API", "API 没有这个部分"},
		{400, "PUT", "suites/a%20b", map[string]string{"text": ""}, `"a b" cannot be the name of a test file: letters, digits, _, - and . can`, `"a b" 不能作为测试文件名：可用字母、数字、_、- 和 .`},
		{409, "PUT", "servers/default/new", map[string]any{"entry": map[string]string{"command": "x"}}, "this will run a command", "此操作将运行一条命令"},
	} {
		for lang, want := range map[string]string{"en": tt.english, "zh-CN": tt.other, "fr": tt.english} {
			var got api.Refusal
			must.Parse(t, c.want(tt.status, tt.method, tt.path, tt.body, "Accept-Language", lang), &got)
			if got.Error.Message != want {
				t.Errorf("%s %s in %s: %q, want %q", tt.method, tt.path, lang, got.Error.Message, want)
			}
		}
	}
}

// TestDataInBothLanguages checks texts inside data, which contain both
// languages for the page to choose.
func TestDataInBothLanguages(t *testing.T) {
	c := start(t).login(api.ScopeAdmin)
	opened := c.want(200, "POST", "bench", map[string]any{"target": map[string]string{"server": "demo"}})
	bench, _ := jsonrpc.GetString(opened, "id")
	made := c.want(202, "POST", "bench/"+bench+"/calls", map[string]any{
		"method": "tools/call", "params": map[string]any{"name": "long_task", "arguments": map[string]int{"seconds": 60, "steps": 1}}, "idle": 20,
	})
	id, _ := jsonrpc.GetString(made, "id")
	var run history.Run
	c.await("the end of the call", func() bool { c.get("runs/"+id, &run); return run.Status != "running" })
	if run.Message != "no answer and no progress in time" || run.MessageZH != "在限定时间内没有应答，也没有进度" {
		t.Errorf("a run says %q and %q", run.Message, run.MessageZH)
	}
}
