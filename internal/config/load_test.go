package config_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/configtest"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/mcptest/must"
)

// refused loads a file that must be refused with that code, and returns the
// problem.
func refused(t *testing.T, name, content, code string) problem.Problem {
	t.Helper()
	_, err := config.Load(configtest.Options(t, configtest.Write(t, name, content), nil))
	return configtest.ProblemOf(t, err, code)
}

func TestShapes(t *testing.T) {
	entry := `{"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}}`
	for _, tt := range []struct {
		name, file, content string
		shape               layout.Shape
		schemas             []string
		servers             []string
	}{
		{"req/C-3 mcpServers", "a.json", `{"mcpServers": {"one": ` + entry + `, "two": {"url": "https://h/mcp"}}}`, layout.ShapeServers, []string{"default"}, []string{"one", "two"}},
		{"servers", "a.json", `{"servers": {"one": ` + entry + `}, "inputs": []}`, layout.ShapeVSCode, []string{"default"}, []string{"one"}},
		{"req/S002-25 mcp_servers", "a.json", `{"mcp_servers": [{"name": "one", "command": "x", "args": []}]}`, layout.ShapeMCPX, []string{"default"}, []string{"one"}},
		{"req/S003-42 schemas", "a.json", `{"server": {"port": 1}, "cli": {"stdio": {}}, "schemas": {"b": {"mcpServers": {"one": ` + entry + `}}, "a": {}}, "logging": {"level": "debug"}}`, layout.ShapeSchemas, []string{"b", "a"}, []string{"one"}},
		{"bare", "a.json", `{"one": ` + entry + `}`, layout.ShapeBare, []string{"default"}, []string{"one"}},
		{"tester", "settings.json", `{"editor.fontSize": 12, "mcp-tester.servers": [{"name": "one", "type": "streamable http", "url": "http://h", "customHeaders": {"X": "y"}}]}`, layout.ShapeTester, []string{"default"}, []string{"one"}},
		{"vscode settings", "settings.json", `{"editor.fontSize": 12, "mcp": {"servers": {"one": ` + entry + `}}}`, layout.ShapeVSCode, []string{"default"}, []string{"one"}},
		{"yaml", "a.yaml", "mcpServers:\n  one:\n    command: npx\n    args: [a]\n", layout.ShapeServers, []string{"default"}, []string{"one"}},
		{"no extension", "config", "mcpServers:\n  one: {command: npx}\n", layout.ShapeServers, []string{"default"}, []string{"one"}},
		{"empty beside", "a.json", `{"mcp_servers": [], "mcpServers": {"one": ` + entry + `}}`, layout.ShapeServers, []string{"default"}, []string{"one"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := configtest.MustLoad(t, tt.file, tt.content, nil)
			if cfg.Shape != tt.shape {
				t.Errorf("shape = %s, want %s", cfg.Shape, tt.shape)
			}
			if diff := cmp.Diff(tt.schemas, cfg.Names()); diff != "" {
				t.Errorf("schemas (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.servers, cfg.Schemas[0].Names()); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
			if len(cfg.Problems) > 0 && tt.name != "servers" {
				t.Errorf("problems: %v", cfg.Problems)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	cfg := configtest.MustLoad(t, "a.json", `{"mcpServers": {"one": {"command": "x"}, "two": {"url": "http://h"}}}`, nil)
	one := cfg.Schemas[0].Servers[0]
	if one.Type != config.TypeStdio || !one.Enabled || !one.Restart || one.RestartDelay != 5*time.Second || one.Retries != 3 ||
		one.Share != "auto" || one.Protocol != "auto" || one.Validate != "required" || one.Pin != "warn" || !one.Runnable() {
		t.Errorf("server = %+v", one)
	}
	if two := cfg.Schemas[0].Servers[1]; two.Type != config.TypeAuto {
		t.Errorf("type of a bare url = %q, want %q", two.Type, config.TypeAuto)
	}
	if cfg.Server.Host != "127.0.0.1" || cfg.Server.PortSet || cfg.StartWait != 4*time.Second || cfg.Compat != "auto" || cfg.Schemas[0].Mode != "full" {
		t.Errorf("config = %+v", cfg)
	}
	if cfg.Limits != config.DefaultLimits() || cfg.Limits.ClientMessage != 10<<20 || cfg.Limits.CallIdle != 5*time.Minute {
		t.Errorf("limits = %+v", cfg.Limits)
	}
	t.Run("req/S003-22", func(t *testing.T) {
		want := config.Stdio{Encoding: "utf8", Delimiter: "\n", Timeout: 30 * time.Second}
		if cfg.CLI.Stdio != want {
			t.Errorf("stdio = %+v, want %+v", cfg.CLI.Stdio, want)
		}
	})
}

func TestStdioSectionNeverBlocks(t *testing.T) {
	for name, section := range map[string]string{
		"req/S003-23 encoding":  `{"encoding": "latin1"}`,
		"req/S003-23 delimiter": `{"delimiter": "ab"}`,
		"req/S003-23 timeout":   `{"timeout": -5}`,
		"req/S003-23 type":      `"none"`,
		"req/C-29 encoding":     `{"encoding": 7}`,
	} {
		t.Run(name, func(t *testing.T) {
			cfg := configtest.MustLoad(t, "a.json", `{"cli": {"stdio": `+section+`}, "schemas": {}}`, nil)
			want := config.Stdio{Encoding: "utf8", Delimiter: "\n", Timeout: 30 * time.Second}
			if cfg.CLI.Stdio != want {
				t.Errorf("stdio = %+v, want %+v", cfg.CLI.Stdio, want)
			}
			if len(cfg.Problems) != 1 || cfg.Problems[0].Line == 0 {
				t.Errorf("problems = %v, want one with a place", cfg.Problems)
			}
		})
	}
	t.Run("req/C-29 delimiter honoured", func(t *testing.T) {
		cfg := configtest.MustLoad(t, "a.json", `{"cli": {"stdio": {"delimiter": "\u0000"}}, "schemas": {}}`, nil)
		if cfg.CLI.Stdio.Delimiter != "\x00" {
			t.Errorf("delimiter = %q, problems %v", cfg.CLI.Stdio.Delimiter, cfg.Problems)
		}
	})
}

func TestProblemText(t *testing.T) {
	p := refused(t, "a.json", "{\n  \"mcpServers\": {\"x\": {\"command\": 5}}\n}", problem.WrongType)
	if p.Line != 2 || p.Column != 35 || p.Path != "mcpServers.x.command" {
		t.Errorf("place = %s %s", p.Place(), p.Path)
	}
	must.Contain(t, p.String(), "a.json:2:35: error[AIO2021]: mcpServers.x.command: must be a string, not a number (put it into quotes)")
	for code, text := range problem.Texts {
		if text.En == "" || text.ZH == "" || text.Hint == "" || text.HintZH == "" {
			t.Errorf("%s lacks a language, or the way out", code)
		}
		if code != problem.Syntax && (!strings.ContainsFunc(text.ZH, isHan) || !strings.ContainsFunc(text.HintZH, isHan)) {
			t.Errorf("%s is not in Chinese: %s (%s)", code, text.ZH, text.HintZH)
		}
		if n, m := strings.Count(text.En, "%"), strings.Count(text.ZH, "%"); n != m {
			t.Errorf("%s has %d arguments in English, %d in Chinese", code, n, m)
		}
	}
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }
