package builtin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
)

func TestGenerations(t *testing.T) {
	env := world(t)
	as := func(names, mode string) *Set {
		return toolsFor(env, mode, func(cfg *config.Config, _ *config.Schema) { cfg.Compact.Names = names })
	}
	for _, c := range []struct{ names, mode, want string }{
		{NamesDescribe, ModeCompact, "describe call resources"}, {NamesDescribe, ModeSearch, "describe call resources"},
		{NamesInvoke, ModeCompact, "invoke read"}, {NamesInvoke, ModeSearch, "describe invoke read"},
	} {
		if got := names(as(c.names, c.mode)); got != c.want {
			t.Errorf("%s, %s: %s", c.names, c.mode, got)
		}
	}
	for _, c := range []struct {
		tool, args, want string
		failed           bool
	}{
		{"describe", `{"method":"files"}`, `"name": "read_file"`, false},
		{"describe", `{"method":"files.read_file"}`, `"required":["path"]`, false},
		{"describe", `{"method":"my.files.list.all"}`, `"server_name": "my.files"`, false},
		{"describe", `{"method":"nowhere"}`, `"code": "SERVER_NOT_FOUND"`, true},
		{"describe", `{"method":"files.nothing"}`, `"available_tools"`, true},
		{"call", `{"method":"files.read_file","arguments":{"path":"/a"}}`, `files read_file {"path":"/a"}`, false},
		{"call", `{"method":"my.files.list.all"}`, `my.files list.all `, false},
		{"call", `{"method":"plain"}`, `"error": "Invalid method format: 'plain'. Expected 'server.tool'"`, true},
		{"call", `{}`, `Expected 'server.tool'`, true},
		{"call", `{"method":"nowhere.tool"}`, `"code": "SERVER_NOT_FOUND"`, true},
		{"call", `{"method":"files.nothing"}`, `"code": "TOOL_NOT_FOUND"`, true},
		{"call", `{"method":"files.read_file"}`, `"tool_schema"`, true},
		{"call", `{"method":"files.read_file","arguments":7}`, `"code": "VALIDATION_ERROR"`, true},
		{"resources", `{"server_name":"files","uri":"a:text"}`, `the text`, false},
		{"resources", `{"server_name":"files","uri":"a:both"}`, `"mime_type": "image/png"`, false},
		{"resources", `{"server_name":"files","uri":"a:none"}`, `"code": "RESOURCE_NOT_FOUND"`, true},
		{"resources", `{"server_name":"nowhere","uri":"a:text"}`, `"available_servers"`, true},
	} {
		t.Run(c.tool+" "+c.args, func(t *testing.T) {
			text, failed := run(t, as(NamesDescribe, ModeCompact), env, c.tool, c.args)
			compacted := strings.ReplaceAll(strings.ReplaceAll(text, "\n", ""), " ", "")
			if failed != c.failed || !strings.Contains(compacted, strings.ReplaceAll(c.want, " ", "")) {
				t.Errorf("failed %v: %s", failed, text)
			}
		})
	}
	env.Call = func(context.Context, string, string, []byte) (*jsonrpc.Response, error) {
		return nil, errors.New("gone")
	}
	if text, failed := run(t, as(NamesInvoke, ModeCompact), env, "invoke", `{"method":"files.list.all"}`); !failed || !strings.Contains(text, "EXECUTION_ERROR") {
		t.Errorf("got %s", text)
	}
}
