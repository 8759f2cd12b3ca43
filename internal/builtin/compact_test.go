package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonschema"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/must"
)

// world returns a catalogue of three servers, one of them down, and results for
// calls of their tools.
func world(t testing.TB) *Env {
	t.Helper()
	tools, issues := catalog.ParseTools([][]byte{[]byte(`{"tools":[
		{"name":"read_file","description":"Read a file","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"tail":{"type":"integer"}},"required":["path"],"additionalProperties":false}},
		{"name":"list.all","description":"List everything","inputSchema":{"type":"object"}}]}`)})
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	files := &catalog.Features{Tools: tools, Instructions: strings.Repeat("Handles files. ", 20), Capabilities: []byte(`{"tools":{}}`)}
	all := catalog.Merge([]catalog.Source{
		{Server: "files", Features: files}, {Server: "my.files", Features: files}, {Server: "down", State: "failed"},
	}, catalog.Options{})
	env := &Env{Catalog: func() *catalog.Catalog { return all }}
	env.Call = func(_ context.Context, server, tool string, arguments []byte) (*jsonrpc.Response, error) {
		ref, miss := all.ToolOf(server, tool, nil)
		switch { // like the gateway
		case miss != nil && miss.Kind == catalog.ServerDown:
			return nil, mcp.Failure(mcp.UpstreamUnavailable, server, "server is not available")
		case miss != nil:
			return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Tool '%s' not found", tool)
		case len(arguments) > 0 && arguments[0] != '{':
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Invalid params: arguments must be an object")
		}
		given := arguments
		if given == nil {
			given = []byte(`{}`)
		}
		if wrong := ref.Item.Validate(given); len(wrong) > 0 {
			return nil, jsonschema.Violations(wrong)
		}
		text := jsonrpc.Quote(fmt.Sprintf("%s %s %s", server, tool, arguments))
		return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"x":1.0}`, text)}, nil
	}
	return env
}

func toolsFor(env *Env, mode string, change func(*config.Config)) *Set {
	cfg := &config.Config{}
	if change != nil {
		change(cfg)
	}
	return Compact(mode, env.Catalog(), catalog.View{}, cfg, false, false)
}

// run calls a tool of the set and returns its text and whether it failed.
func run(t *testing.T, set *Set, env *Env, name, args string) (string, bool) {
	t.Helper()
	tool := set.Tool(name)
	if tool == nil {
		t.Fatalf("no tool %s", name)
	}
	resp, err := tool.Run(t.Context(), env, []byte(args))
	if err != nil {
		t.Fatalf("%s %s: %v", name, args, err)
	}
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(resp.Result, &result); err != nil || len(result.Content) != 1 {
		t.Fatalf("%s %s: %s", name, args, resp.Result)
	}
	return result.Content[0].Text, result.IsError
}

func names(set *Set) string {
	var list []string
	for _, tool := range set.Tools {
		list = append(list, tool.Name)
	}
	return strings.Join(list, " ")
}

func TestModes(t *testing.T) {
	env := world(t)
	for mode, want := range map[string]string{ModeCompact: "inspect exec", ModeSearch: "inspect exec"} {
		if got := names(toolsFor(env, mode, nil)); got != want {
			t.Errorf("%s: %s", mode, got)
		}
	}
	if set := toolsFor(env, ModeFull, nil); set != nil {
		t.Errorf("full mode has %s", names(set))
	}
	about := string(toolsFor(env, ModeCompact, nil).Tool("inspect").Definition)
	must.Contain(t, about, `Available tools:\n  Server: files - Handles files.`, `\n    - read_file: Read a file`, `Server: down (failed)`)
	if line, _, _ := strings.Cut(about[strings.Index(about, "Handles"):], `\n`); len([]rune(line)) > 100 {
		t.Errorf("instructions of %d characters", len([]rune(line)))
	}
}

func TestExec(t *testing.T) {
	env := world(t)
	set := toolsFor(env, ModeCompact, nil)
	for _, c := range []struct {
		name, args, want string
		failed           bool
	}{
		{"found", `{"server_name":"files","tool_name":"read_file","arguments":{"path":"/a"}}`, `files read_file {"path":"/a"}`, false},
		{"no arguments", `{"server_name":"files","tool_name":"list.all"}`, `files list.all `, false},
		{"null arguments", `{"server_name":"files","tool_name":"list.all","arguments":null}`, `files list.all `, false},
		{"no array", `{"server_name":"files","tool_name":"list.all","arguments":[1]}`, badArguments, true},
		{"missing", `{"server_name":"files","tool_name":"read_file"}`, "Argument validation failed: Missing required argument: 'path'", true},
		{"unknown", `{"server_name":"files","tool_name":"read_file","arguments":{"path":"a","k":1}}`, "Argument validation failed: Unknown argument: 'k'. Available: ['path', 'tail']", true},
		{"type", `{"server_name":"files","tool_name":"read_file","arguments":{"path":"a","tail":"x"}}`, "'tail'", true},
		{"down", `{"server_name":"down","tool_name":"x"}`, "No active connection to server 'down' (failed)", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, failed := run(t, set, env, "exec", c.args)
			if failed != c.failed {
				t.Errorf("isError %v: %s", failed, text)
			}
			if failed {
				var body envelope
				if err := json.Unmarshal([]byte(text), &body); err != nil || body.Error == nil || body.Success || string(body.Data) != "null" {
					t.Fatalf("got %s", text)
				}
				text = *body.Error
			}
			if !strings.Contains(text, c.want) {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}

// TestExecTriesOnce counts the calls: the gateway must see each call that names
// a server and a tool, even if they do not exist.
func TestExecTriesOnce(t *testing.T) {
	env := world(t)
	set := toolsFor(env, ModeCompact, nil)
	gateway, tried := env.Call, ""
	env.Call = func(ctx context.Context, server, tool string, arguments []byte) (*jsonrpc.Response, error) {
		tried += fmt.Sprintf("%s %s %s;", server, tool, arguments)
		return gateway(ctx, server, tool, arguments)
	}
	for _, c := range []struct{ args, tried, want string }{
		{`{"server_name":"files","tool_name":"list.all"}`, "files list.all ;", ""},
		{`{"server_name":"nowhere","tool_name":"x"}`, "nowhere x ;", "Server 'nowhere' not found. Available: ['files', 'my.files', 'down']"},
		{`{"server_name":"files","tool_name":"x"}`, "files x ;", "Tool 'x' not found on server 'files'. Available: ['read_file', 'list.all']"},
		{`{"server_name":"down","tool_name":"x"}`, "down x ;", "No active connection to server 'down' (failed)"},
		{`{"server_name":"files","tool_name":"list.all","arguments":[1]}`, "files list.all [1];", badArguments},
		{`{"tool_name":"x"}`, "", "server_name is required. Available: ['files', 'my.files', 'down']"},
		{`{"server_name":"files"}`, "", "tool_name is required"},
	} {
		tried = ""
		text, failed := run(t, set, env, "exec", c.args)
		if tried != c.tried {
			t.Errorf("%s: tried %q, want %q", c.args, tried, c.tried)
		}
		var body envelope
		if failed && (json.Unmarshal([]byte(text), &body) != nil || *body.Error != c.want) || failed != (c.want != "") {
			t.Errorf("%s: got %s", c.args, text)
		}
	}
}

// TestExecSaysWhy checks that the reason of a gateway error is passed on. The
// error of a call that may have run keeps its message, independent of the
// current catalogue.
func TestExecSaysWhy(t *testing.T) {
	env := world(t)
	set := toolsFor(env, ModeCompact, nil)
	hidden := func(server, _ string) bool { return server != "down" }
	for _, c := range []struct {
		name, server string
		visible      catalog.Visible
		err          error
		text, reason string
	}{
		{"refused", "files", nil, mcp.Failure(mcp.PolicyDenied, "files", "nobody said yes"), "nobody said yes", "policy_denied"},
		{"lost", "down", nil, mcp.Failure(mcp.UpstreamClosed, "down", "whether the call ran is unknown"), "whether the call ran is unknown", "upstream_closed"},
		{"down", "down", nil, mcp.Failure(mcp.UpstreamUnavailable, "down", "refused"), "No active connection to server 'down' (failed)", "upstream_unavailable"},
		{"down and hidden", "down", hidden, mcp.Failure(mcp.UpstreamUnavailable, "down", "refused"), "Server 'down' not found. Available: ['files', 'my.files']", ""},
		{"not of ours", "files", nil, errors.New("the pipe broke"), "the pipe broke", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			env.Visible = c.visible
			env.Call = func(context.Context, string, string, []byte) (*jsonrpc.Response, error) { return nil, c.err }
			text, failed := run(t, set, env, "exec", `{"server_name":"`+c.server+`","tool_name":"list.all"}`)
			var body envelope
			if err := json.Unmarshal([]byte(text), &body); err != nil || !failed || *body.Error != c.text || body.Reason != c.reason {
				t.Errorf("got %s", text)
			}
			if strings.Contains(text, `"reason"`) != (c.reason != "") {
				t.Errorf("a reason without one: %s", text)
			}
		})
	}
}

func TestExecPassesWhatItGets(t *testing.T) {
	env := world(t)
	set := toolsFor(env, ModeCompact, nil)
	const odd = `{"content":[{"type":"image","data":"QUJD","mimeType":"image/png"},{"type":"hologram"}],"structuredContent":{"big":9007199254740993},"_meta":{"a":1.0},"isError":true}`
	env.Call = func(context.Context, string, string, []byte) (*jsonrpc.Response, error) {
		return &jsonrpc.Response{Result: []byte(odd)}, nil
	}
	resp, err := set.Tool("exec").Run(t.Context(), env, []byte(`{"server_name":"files","tool_name":"list.all"}`))
	if err != nil || string(resp.Result) != odd {
		t.Errorf("got %s, %v", resp.Result, err)
	}
	env.Call = func(context.Context, string, string, []byte) (*jsonrpc.Response, error) {
		return nil, errors.New("the pipe broke")
	}
	if text, failed := run(t, set, env, "exec", `{"server_name":"files","tool_name":"list.all"}`); !failed || !strings.Contains(text, `"error": "the pipe broke"`) {
		t.Errorf("got %s", text)
	}
}

// If a server asks for a visit to a URL and the client can open URLs, the
// request is left to the client.
func TestExecPassesURLsOn(t *testing.T) {
	env := world(t)
	set := toolsFor(env, ModeCompact, nil)
	env.Call = func(context.Context, string, string, []byte) (*jsonrpc.Response, error) {
		return &jsonrpc.Response{Err: jsonrpc.Errorf(mcp.CodeElicitURL, "sign in first")}, nil
	}
	for _, able := range []bool{true, false} {
		env.OpensURL = able
		resp, err := set.Tool("exec").Run(t.Context(), env, []byte(`{"server_name":"files","tool_name":"list.all"}`))
		if err != nil || (resp.Err != nil) != able || !able && !strings.Contains(string(resp.Result), "sign in first") {
			t.Errorf("able %v: %+v, %v", able, resp, err)
		}
	}
}

func TestTypes(t *testing.T) {
	env := world(t)
	set := toolsFor(env, ModeCompact, func(cfg *config.Config) { cfg.Compact.Types = true })
	if text, _ := run(t, set, env, "inspect", `{"server_name":"files","tool_name":"read_file"}`); !strings.Contains(text, `"input_schema": "{path: string; tail?: number`) {
		t.Errorf("as types: %s", text)
	}
}

func TestSearch(t *testing.T) {
	env := world(t)
	set := toolsFor(env, ModeSearch, nil)
	if text, failed := run(t, set, env, "inspect", `{"query":"raed a fil"}`); failed || !strings.Contains(text, "read_file") {
		t.Errorf("got %s", text)
	}
	if text, _ := run(t, set, env, "inspect", `{"query":"quantum chromodynamics"}`); text != "[]" {
		t.Errorf("got %s", text)
	}
	if text, failed := run(t, set, env, "inspect", `{}`); !failed || !strings.Contains(text, "available_servers") {
		t.Errorf("got %s", text)
	}
}

// What the configuration says of a tool is what a model reads in every mode,
// and the name that it reads is the one that is called.
func TestConfiguredNames(t *testing.T) {
	tools, _ := catalog.ParseTools([][]byte{[]byte(`{"tools":[
		{"name":"find","description":"Server text of find","inputSchema":{"type":"object"}},
		{"name":"find2","description":"Server text of find2","inputSchema":{"type":"object"}},
		{"name":"stay","description":"Server text of stay","inputSchema":{"type":"object"}},
		{"name":"clash","description":"Server text of clash","inputSchema":{"type":"object"}}]}`)})
	all := catalog.Merge([]catalog.Source{{Server: "s", Features: &catalog.Features{Tools: tools}, Policy: catalog.Policy{Tools: catalog.Rules{Items: map[string]catalog.Override{
		"find":  {Rename: "old-find", Description: "Configured text of find"},
		"find2": {Rename: "find"},
		"clash": {Rename: "stay"},
	}}}}}, catalog.Options{})
	env := &Env{Catalog: func() *catalog.Catalog { return all }}
	for _, mode := range []string{ModeCompact, ModeCode, ModeSearch} {
		set := toolsFor(env, mode, nil)
		shown := string(set.Tool("inspect").Definition)
		for _, args := range []string{`{"server_name":"s"}`, `{"server_name":"s","tool_name":"old-find"}`, `{"server_name":"s","tool_name":"nope"}`} {
			text, _ := run(t, set, env, "inspect", args)
			shown += text
		}
		if strings.Contains(shown, `"name": "find2"`) || strings.Contains(shown, "function find2") || strings.Contains(shown, "Server text of find\"") || strings.Contains(shown, "Server text of find *") {
			t.Errorf("%s shows what the configuration replaces: %s", mode, shown)
		}
		if !strings.Contains(shown, "Configured text of find") || !strings.Contains(shown, "old-find") {
			t.Errorf("%s does not show what the configuration says: %s", mode, shown)
		}
	}
	own := map[string]string{"old-find": "find", "find": "find2", "find2": "find2", "stay": "stay", "clash": "clash"}
	for name, want := range own {
		if ref, miss := all.ToolOf("s", name, nil); miss != nil || ref.Name != want {
			t.Errorf("%s leads to %s, %v; want %s", name, ref.Name, miss, want)
		}
	}
	for _, ref := range all.ToolsOf("s", catalog.View{}) {
		if own[ref.Beside] != ref.Name {
			t.Errorf("%s is shown as %s", ref.Name, ref.Beside)
		}
	}
}
