package gateway

import (
	"fmt"
	"strings"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

const rehearsedTools = `{"tools":[
	{"name":"write","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}},
	{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
	{"name":"peek","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`

// TestRehearsal calls tools in a rehearsed session, through each door. The
// function that answers in place of the server gets the server's own tool, and
// the server gets no request.
func TestRehearsal(t *testing.T) {
	r := newRaw(t, `{"tools":{}}`, map[string]string{mcp.MethodToolsList: rehearsedTools, mcp.MethodToolsCall: `{"content":[{"type":"text","text":"for real"}]}`})
	g := newGateway(t, map[string]string{"s": r.URL}, func(c *config.Config) {
		s := c.Schemas[0].Servers[0]
		s.CallsPerMinute = 2
		s.Tools = map[string]config.ToolPolicy{"write": {Ask: true}, "peek": {Ask: true}}
	})
	const canned = `{"content":[{"type":"text","text":"canned"}]}`
	for _, tt := range []struct {
		name, mode, call string
		answer           bool // in place of the server
		want             string
		picked           string // the tool that the function gets
	}{
		{"by name", builtin.ModeFull, `{"name":"write","arguments":{"path":"a"}}`, true, "canned", `s write {"path":"a"} false`},
		{"through exec", builtin.ModeCompact, `{"name":"exec","arguments":{"server_name":"s","tool_name":"write","arguments":{"path":"a"}}}`, true, "canned", `s write {"path":"a"} false`},
		{"once more, whatever the rate", builtin.ModeSearch, `{"name":"exec","arguments":{"server_name":"s","tool_name":"look"}}`, true, "canned", "s look {} true"},
		{"lacks an argument", builtin.ModeFull, `{"name":"write","arguments":{}}`, true, "Missing required parameter 'path'", ""},
		{"looks around", builtin.ModeCompact, `{"name":"inspect","arguments":{"server_name":"s"}}`, true, "input_schema", ""},
		{"would change something", builtin.ModeFull, `{"name":"write","arguments":{"path":"a"}}`, false, "this is a rehearsal", `s write {"path":"a"} false`},
		{"needs a person's approval", builtin.ModeFull, `{"name":"peek"}`, false, "needs a person's approval", "s peek {} true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			picked := ""
			text := rehearsed(t, g, tt.mode, tt.call, func(p Pick) *jsonrpc.Response {
				picked = fmt.Sprintf("%s %s %s %t", p.Server, p.Tool, p.Arguments, p.ReadOnly)
				if !tt.answer {
					return nil
				}
				return &jsonrpc.Response{Result: []byte(canned)}
			})
			if !strings.Contains(text, tt.want) || picked != tt.picked {
				t.Errorf("got %s, picked %q", text, picked)
			}
		})
	}
	for len(r.got) > 0 {
		if line := <-r.got; strings.HasPrefix(line, mcp.MethodToolsCall) {
			t.Errorf("the server got %s", line)
		}
	}
	text := rehearsed(t, g, builtin.ModeFull, `{"name":"look"}`, func(Pick) *jsonrpc.Response { return nil })
	if !strings.Contains(text, "for real") {
		t.Errorf("a tool that changes nothing: %s", text)
	}
	text = rehearsed(t, g, builtin.ModeFull, `{"name":"look"}`, func(Pick) *jsonrpc.Response { return nil })
	if !strings.Contains(text, "2 calls a minute") {
		t.Errorf("again within the minute: %s", text)
	}
}

// rehearsed makes one call in a new session, and returns its result or the
// error.
func rehearsed(t *testing.T, g *Gateway, mode, call string, rehearse func(Pick) *jsonrpc.Response) string {
	t.Helper()
	s := opened(t, g, Opening{Who: access.Principal{ID: "local", Grant: access.Grant{Mode: mode}}, Schema: config.DefaultSchema, Session: true, Client: nobody{}, Rehearse: rehearse})
	ask(t, s, mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	resp, err := s.Handle(t.Context(), nobody{}, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(call)})
	switch {
	case err != nil:
		return err.Error()
	case resp.Err != nil:
		return resp.Err.Error()
	}
	return string(resp.Result)
}
