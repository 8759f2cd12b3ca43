package probe

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
)

func TestPromptParams(t *testing.T) {
	for _, tt := range []struct {
		id   string
		args map[string]string
		want string
	}{
		{"req/S004-2", nil, `{"name":"p"}`},
		{"req/S004-3", map[string]string{"a": "1", "b": "2"}, `{"name":"p","arguments":{"a":"1","b":"2"}}`},
		{"req/S004-4", map[string]string{}, `{"name":"p"}`},
		{"req/S004-5", nil, `{"name":"p"}`},
		{"req/S004-6", map[string]string{"arg1": "", "arg2": ""}, `{"name":"p","arguments":{"arg1":"","arg2":""}}`},
		{"req/S004-7", map[string]string{"arg1": "value"}, `{"name":"p","arguments":{"arg1":"value"}}`},
		{"req/S004-12", map[string]string{"a": "", "b": "x"}, `{"name":"p","arguments":{"a":"","b":"x"}}`},
	} {
		t.Run(tt.id, func(t *testing.T) {
			if got := string(PromptParams("p", tt.args)); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// fussy returns a server whose prompts refuse an empty arguments member, as
// some servers do.
func fussy() *mcpserver.Server {
	s := mcpserver.New("fussy")
	prompt := func(name, arguments string) mcpserver.Prompt {
		return mcpserver.Prompt{
			Definition: `{"name":"` + name + `","arguments":` + arguments + `}`,
			Get: func(_ context.Context, c *mcpserver.Call) (any, error) {
				raw := c.Arguments
				if raw != nil && string(raw) == "{}" {
					return nil, jsonrpc.Errorf(0, "Missing required arguments")
				}
				return mcpserver.UserMessage(name, "arguments: %s", raw), nil
			},
		}
	}
	s.SetPrompts(
		prompt("none", `[]`), prompt("optional", `[{"name":"o"}]`), prompt("required", `[{"name":"r","required":true}]`),
		prompt("mixed", `[{"name":"o"},{"name":"r","required":true}]`),
	)
	return s
}

// TestPromptRuleIsOfTheProtocol sends params as a page or a script may write
// them to a server that refuses the members that the rule removes.
func TestPromptRuleIsOfTheProtocol(t *testing.T) {
	for _, protocol := range []string{"legacy", "modern"} {
		s := mustOpen(t, inMemory(t, fussy()), Options{Protocol: protocol})
		for written, want := range map[string]string{
			`{"name":"none"}`:                                       "arguments: ",
			`{"name":"none","arguments":{}}`:                        "arguments: ",
			`{"name":"optional","arguments":null}`:                  "arguments: ",
			`{"name":"optional","arguments":{"o":null}}`:            "arguments: ",
			`{"name":"optional","arguments":{"o":""}}`:              `arguments: {"o":""}`,
			`{"name":"mixed","arguments":{"o":null,"r":"x","z":1}}`: `arguments: {"r":"x","z":1}`,
		} {
			t.Run("req/S004-8/"+protocol+"/"+written, func(t *testing.T) {
				x := mustCall(t, s, mcp.MethodPromptsGet, string(TidyPrompt(json.RawMessage(written))))
				if got := TextOf(x.Result); got != want {
					t.Errorf("%q, want %q", got, want)
				}
			})
		}
		x, err := s.Call(t.Context(), mcp.MethodPromptsGet, json.RawMessage(`{"name":"none","arguments":{}}`), CallOptions{})
		if err != nil || x.Err == nil {
			t.Errorf("the server takes what the rule leaves out: %v %v", x, err)
		}
	}
}

func TestPromptsOverTheWire(t *testing.T) {
	for _, protocol := range []string{"legacy", "modern"} {
		s := mustOpen(t, inMemory(t, fussy()), Options{Protocol: protocol})
		prompts, err := s.List(t.Context(), catalog.Prompts)
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			id, prompt string
			args       map[string]string
			missing    string
			want       string
		}{
			{"req/S004-13", "none", nil, "", "arguments: "},
			{"req/S004-14", "optional", nil, "", "arguments: "},
			{"req/S004-15", "optional", map[string]string{"o": "x"}, "", `arguments: {"o":"x"}`},
			{"req/S004-16", "required", nil, "r", ""},
			{"req/S004-17", "required", map[string]string{"r": "x"}, "", `arguments: {"r":"x"}`},
			{"req/S004-18", "mixed", map[string]string{"r": "x"}, "", `arguments: {"r":"x"}`},
		} {
			t.Run(protocol+"/"+tt.id, func(t *testing.T) {
				err := CheckPrompt(PromptArguments(prompts.Find(tt.prompt).Raw), tt.args)
				var missing *MissingError
				if errors.As(err, &missing) != (tt.missing != "") || tt.missing != "" && missing.Name != tt.missing {
					t.Fatalf("check says %v, want %q missing", err, tt.missing)
				}
				if tt.missing != "" {
					return
				}
				x := mustCall(t, s, mcp.MethodPromptsGet, string(PromptParams(tt.prompt, tt.args)))
				if got := TextOf(x.Result); got != tt.want {
					t.Errorf("%q, want %q", got, tt.want)
				}
				sent := x.Wire[0].Body
				if has := jsonrpc.Get(sent, "params", "arguments") != nil; has != (len(tt.args) > 0) {
					t.Errorf("sent %s", sent)
				}
			})
		}
	}
}

func TestExpandTemplate(t *testing.T) {
	values := map[string]string{"id": "a b/ü", "q": "1&2"}
	for template, want := range map[string]string{
		"demo://text/{id}": "demo://text/a%20b%2F%C3%BC",
		"x://{+id}":        "x://a%20b/%C3%BC",
		"x://s{?q,none}":   "x://s?q=1%262",
		"x://plain":        "x://plain",
		"x://a{/id}":       "x://a/a%20b%2F%C3%BC",
		"x://{q:1}{#id}":   "x://1#a%20b/%C3%BC",
		"x://{id*}{;q}":    "x://a%20b%2F%C3%BC;q=1%262",
	} {
		if got, err := ExpandTemplate(template, values); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", template, got, err, want)
		}
	}
	if _, err := ExpandTemplate("x://{none}", values); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a variable without a value: %v", err)
	}
	for _, bad := range []string{"x://{open", "x://{}", "x://{a-b}"} {
		if got, err := ExpandTemplate(bad, values); err == nil {
			t.Errorf("%s became %s", bad, got)
		}
	}
	if got := TemplateVariables("x://{+a}/{b:3}{?c,d*}{&b}"); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("variables %v", got)
	}
}

func TestJQ(t *testing.T) {
	got, err := JQ(".items[].n", json.RawMessage(`{"items":[{"n":12345678901234567890},{"n":2}]}`))
	if err != nil || len(got) != 2 || string(got[0]) != "12345678901234567890" {
		t.Errorf("%s, %v", got, err)
	}
	for expression, want := range map[string]string{
		".[":      `解析 ".[" 失败：表达式在中途结束`,
		".a |]":   `解析 ".a |]" 失败：意外的符号 "]"`,
		"none(1)": `解析 "none(1)" 失败：未定义的函数：none/1`,
		"$x":      `解析 "$x" 失败：未定义的变量：$x`,
	} {
		if err := CheckJQ(expression); err == nil || i18n.Chinese.Of(err) != want {
			t.Errorf("%s: %s", expression, i18n.Chinese.Of(err))
		}
	}
}
