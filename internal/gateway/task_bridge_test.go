package gateway

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/must"
)

// takes is the _meta of a modern request of a client that takes tasks.
const takes = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}`

// as returns a session of a principal.
func as(t *testing.T, g *Gateway, who access.Principal, version string) *Session {
	t.Helper()
	s := opened(t, g, Opening{Who: who, Schema: config.DefaultSchema, Session: version != mcp.LatestModern, Client: nobody{}})
	if version != mcp.LatestModern {
		ask(t, s, mcp.MethodInitialize, `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	}
	return s
}

// isRefused makes a request that must fail.
func isRefused(t *testing.T, s *Session, method, params string) {
	t.Helper()
	resp, err := s.Handle(t.Context(), nobody{}, &jsonrpc.Request{Method: method, Params: []byte(params)})
	if err == nil && resp.Err == nil {
		t.Errorf("%s answered %s", method, resp.Result)
	}
}

// TestTaskDialects translates the tasks of servers of one era for clients of
// the other, and checks that principals do not see the tasks of others.
func TestTaskDialects(t *testing.T) {
	anna, bert := access.Principal{ID: "key:anna"}, access.Principal{ID: "key:bert"}
	t.Run("true/13 modern client, legacy server", func(t *testing.T) {
		const result = `{"content":[{"type":"text","text":"done"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}`
		r := newRaw(t, `{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}}`, map[string]string{
			mcp.MethodToolsList:   taskTools,
			mcp.MethodToolsCall:   `{"task":{"taskId":"t1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":1000,"pollInterval":7}}`,
			mcp.MethodTasksGet:    `{"taskId":"t1","status":"completed","ttl":1000}`,
			mcp.MethodTasksResult: result,
		})
		g := newGateway(t, map[string]string{"a": r.URL}, nil)
		s := as(t, g, anna, mcp.LatestModern)
		must.Contain(t, ask(t, s, mcp.MethodDiscover, `{`+takes), `"io.modelcontextprotocol/tasks":{}`)
		must.Contain(t, ask(t, s, mcp.MethodToolsCall, `{"name":"a__slow",`+takes), `"resultType":"task"`, `"taskId":"a~t1"`, `"ttlMs":1000`, `"pollIntervalMs":7`)
		must.Contain(t, r.sent(t, mcp.MethodToolsCall), `"task":{}`)
		got := ask(t, s, mcp.MethodTasksGet, `{"taskId":"a~t1",`+takes)
		must.Contain(t, got, `"taskId":"a~t1"`, `"status":"completed"`, `"text":"done"`, `"resultType":"complete"`)
		if strings.Contains(got, "related-task") {
			t.Errorf("the other dialect shows: %s", got)
		}
		isRefused(t, as(t, g, bert, mcp.LatestModern), mcp.MethodTasksGet, `{"taskId":"a~t1",`+takes)
		isRefused(t, s, mcp.MethodTasksGet, strings.Replace(`{"taskId":"a~t1",`+takes, `"extensions":{"io.modelcontextprotocol/tasks":{}}`, "", 1))
	})
	t.Run("true/13 legacy client, modern server", func(t *testing.T) {
		const result = `{"content":[{"type":"text","text":"done"}]}`
		r := newRaw(t, `{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`, map[string]string{
			mcp.MethodToolsList:   `{"tools":[{"name":"slow","inputSchema":{"type":"object"}}]}`,
			mcp.MethodToolsCall:   `{"resultType":"task","taskId":"t1","status":"working","ttlMs":1000,"pollIntervalMs":7}`,
			mcp.MethodTasksGet:    `{"resultType":"complete","taskId":"t1","status":"completed","ttlMs":null,"result":` + result + `}`,
			mcp.MethodTasksCancel: `{"resultType":"complete"}`,
		})
		r.speak(mcp.LatestModern)
		g := newGateway(t, map[string]string{"a": r.URL}, nil)
		s, other := as(t, g, anna, mcp.V2025_11_25), as(t, g, bert, mcp.V2025_11_25)
		must.Contain(t, ask(t, s, mcp.MethodToolsList, `{}`), `"execution":{"taskSupport":"optional"}`)
		must.Contain(t, ask(t, s, mcp.MethodToolsCall, `{"name":"a__slow","task":{"ttl":5}}`), `"task":{`, `"taskId":"a~t1"`, `"status":"working"`, `"ttl":1000`, `"pollInterval":7`)
		sent := r.sent(t, mcp.MethodToolsCall)
		must.Contain(t, sent, `"io.modelcontextprotocol/tasks":{}`)
		if strings.Contains(sent, `"task":`) {
			t.Errorf("the other dialect was sent: %s", sent)
		}
		got := ask(t, s, mcp.MethodTasksGet, `{"taskId":"a~t1"}`)
		must.Contain(t, got, `"taskId":"a~t1"`, `"status":"completed"`, `"ttl":null`)
		if strings.Contains(got, "done") {
			t.Errorf("the state has the result: %s", got)
		}
		must.Contain(t, ask(t, s, mcp.MethodTasksResult, `{"taskId":"a~t1"}`), `"text":"done"`, `"io.modelcontextprotocol/related-task":{"taskId":"a~t1"}`)
		must.Contain(t, ask(t, s, mcp.MethodTasksCancel, `{"taskId":"a~t1"}`), `"status":"completed"`)
		must.Contain(t, ask(t, s, mcp.MethodTasksList, `{}`), `"taskId":"a~t1"`)
		if list := ask(t, other, mcp.MethodTasksList, `{}`); strings.Contains(list, "t1") {
			t.Errorf("another principal sees %s", list)
		}
		for _, method := range []string{mcp.MethodTasksGet, mcp.MethodTasksResult, mcp.MethodTasksCancel} {
			isRefused(t, other, method, `{"taskId":"a~t1"}`)
		}
	})
	t.Run("true/13 answered at once", func(t *testing.T) {
		r := newRaw(t, `{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`, map[string]string{
			mcp.MethodToolsList: `{"tools":[{"name":"fast","inputSchema":{"type":"object"}}]}`,
			mcp.MethodToolsCall: `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`,
		})
		r.speak(mcp.LatestModern)
		g := newGateway(t, map[string]string{"a": r.URL}, nil)
		s, other := as(t, g, anna, mcp.V2025_11_25), as(t, g, bert, mcp.V2025_11_25)
		got := ask(t, s, mcp.MethodToolsCall, `{"name":"a__fast","task":{}}`)
		must.Contain(t, got, `"status":"working"`)
		id, _ := jsonrpc.GetString([]byte(got), "task", "taskId")
		about := `{"taskId":` + string(jsonrpc.Quote(id)) + `}`
		must.Contain(t, ask(t, s, mcp.MethodTasksGet, about), `"status":"completed"`)
		must.Contain(t, ask(t, s, mcp.MethodTasksResult, about), `"text":"done"`, id)
		isRefused(t, other, mcp.MethodTasksResult, about)
	})
}
