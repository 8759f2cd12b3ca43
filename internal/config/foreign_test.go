package config_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/configtest"
	"mcp-all-in-one/internal/config/problem"
)

// TestForeignKeys reads entries in the form of other programs.
func TestForeignKeys(t *testing.T) {
	for name, tt := range map[string]struct {
		entry string
		want  config.Server
	}{
		"req/A26 url without type": {`{"url": "https://h/mcp"}`, config.Server{Type: config.TypeAuto, URL: "https://h/mcp"}},
		"req/A26 lower-case env":   {`{"command": "x", "env": {"http_proxy": "p"}}`, config.Server{Type: config.TypeStdio, Command: "x", Env: map[string]config.Secret{"http_proxy": "p"}}},
		"serverUrl":                {`{"serverUrl": "https://h"}`, config.Server{Type: config.TypeAuto, URL: "https://h"}},
		"httpUrl":                  {`{"httpUrl": "https://h"}`, config.Server{Type: config.TypeHTTP, URL: "https://h"}},
		"streamable-http":          {`{"type": "streamable-http", "url": "https://h"}`, config.Server{Type: config.TypeHTTP, URL: "https://h"}},
		"req/C18 sse":              {`{"type": "sse", "url": "https://h"}`, config.Server{Type: config.TypeSSE, URL: "https://h"}},
		"local":                    {`{"type": "local", "command": ["npx", "-y"], "args": ["x"], "environment": {"A": "b"}}`, config.Server{Type: config.TypeStdio, Command: "npx", Args: []string{"-y", "x"}, Env: map[string]config.Secret{"A": "b"}}},
		"empty url":                {`{"command": "x", "url": ""}`, config.Server{Type: config.TypeStdio, Command: "x"}},
		"null":                     {`{"command": "x", "env": null, "args": null}`, config.Server{Type: config.TypeStdio, Command: "x"}},
		"tools list":               {`{"command": "x", "tools": ["a*"], "disabledTools": ["b"]}`, config.Server{Type: config.TypeStdio, Command: "x", Allow: []string{"a*"}, Deny: []string{"b"}}},
		"mcps-proxy sse":           {`{"type": "sse", "url": "https://h", "reconnectInterval": 1000, "maxRetries": 5, "timeout": 30000}`, config.Server{Type: config.TypeSSE, URL: "https://h", RestartDelay: time.Second, Retries: 5, Timeout: 30 * time.Second}},
		"numbers as text":          {`{"command": "x", "args": [1, true], "env": {"A": 8080}}`, config.Server{Type: config.TypeStdio, Command: "x", Args: []string{"1", "true"}, Env: map[string]config.Secret{"A": "8080"}}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := configtest.MustLoad(t, "a.json", `{"mcpServers": {"s": `+tt.entry+`}}`, nil)
			if len(cfg.Problems) > 0 {
				t.Errorf("problems = %v", cfg.Problems)
			}
			s := cfg.Schemas[0].Servers[0]
			got := config.Server{Type: s.Type, Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Allow: s.Allow, Deny: s.Deny, Timeout: s.Timeout}
			if tt.want.Retries > 0 {
				got.Retries, got.RestartDelay = s.Retries, s.RestartDelay
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(config.Server{})); diff != "" {
				t.Errorf("server (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("disabled", func(t *testing.T) {
		s := configtest.MustLoad(t, "a.json", `{"mcpServers": {"s": {"command": "x", "disabled": true}, "t": {"command": "x", "disabled": false}}}`, nil).Schemas[0]
		if s.Servers[0].Enabled || !s.Servers[1].Enabled {
			t.Errorf("enabled = %v, %v", s.Servers[0].Enabled, s.Servers[1].Enabled)
		}
	})
	t.Run("two names for one key", func(t *testing.T) {
		cfg := configtest.MustLoad(t, "a.json", `{"mcpServers": {"s": {"url": "https://a", "serverUrl": "https://b"}}}`, nil)
		if p := configtest.Warned(t, cfg, problem.TwoNames); !strings.Contains(p.Message, `"serverUrl" is ignored because "url"`) || !strings.Contains(p.MessageZH, `已存在 "url"`) {
			t.Errorf("problem = %v %s", p, p.MessageZH)
		}
	})
	t.Run("two values of one argument", func(t *testing.T) {
		cfg := configtest.MustLoad(t, "a.json", `{"mcpServers": {"s": {"url": "https://a", "tools": {"t": {"arguments": {"x": {"value": 1, "default": 2}, "y": {"value": 1}}}}}}}`, nil)
		if p := configtest.Warned(t, cfg, problem.TwoNames); p.Path != "mcpServers.s.tools.t.arguments.x.default" || !strings.Contains(p.Message, `"default" is ignored because "value"`) {
			t.Errorf("problem = %v at %s", p, p.Path)
		}
	})
}

func TestMCPXFile(t *testing.T) {
	o := configtest.Options(t, configtest.Write(t, "config.json", `{
		"mcp_servers": [
			{"name": "a", "command": "x", "args": []},
			{"name": "a.b", "type": "http", "url": "https://h/sse"}
		],
		"disabled_tools": ["a.b.tool", "a.other", "nobody.x"],
		"schema_compression_enabled": true,
		"toon_compression_enabled": true,
		"toon_compression_min_size": 3,
		"include_structured_content": true,
		"health_check_interval": 30
	}`), nil)
	o.Personality = config.MCPX
	cfg := loaded(t, o)
	s := cfg.Schemas[0]
	if s.Mode != "compact" {
		t.Errorf("mode %q", s.Mode)
	}
	if s.Servers[1].Type != config.TypeSSE {
		t.Errorf("type = %q", s.Servers[1].Type)
	}
	if diff := cmp.Diff(config.Compact{Types: true}, cfg.Compact); diff != "" {
		t.Errorf("compact (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"other"}, {"tool"}}, [][]string{s.Servers[0].Deny, s.Servers[1].Deny}); diff != "" {
		t.Errorf("req/C7 denied tools (-want +got):\n%s", diff)
	}
	if len(cfg.Problems) != 5 { // health checks, structured content, tables (two keys), and a tool of an unknown server
		t.Errorf("problems = %v", cfg.Problems)
	}
	t.Run("req/S002-26", func(t *testing.T) {
		if p := refused(t, "a.json", `{"mcp_servers": [{"command": "x"}]}`, problem.ServerName); !strings.Contains(p.Message, "missing") {
			t.Errorf("problem = %v", p)
		}
	})
	t.Run("req/S002-28", func(t *testing.T) {
		if p := refused(t, "a.json", "{\"mcp_servers\": \n\"x\"}", problem.WrongType); p.Line != 2 || p.Column != 1 {
			t.Errorf("problem = %v", p)
		}
	})
	t.Run("req/C10 a file of something else", func(t *testing.T) {
		refused(t, "a.json", `{"something": {"else": 1}}`, problem.NoServers)
		refused(t, "a.json", `{}`, problem.NoServers)
	})
	t.Run("its file in the working directory needs Project", func(t *testing.T) {
		o := configtest.Options(t, "", nil)
		o.Personality = config.MCPX
		own := configtest.Put(t, filepath.Join(o.Home, ".mcpx", "config.json"), emptyFile)
		local := configtest.Put(t, filepath.Join(o.WorkDir, "config.json"), emptyFile)
		expectPath(t, o, own)
		o.Project = true
		expectPath(t, o, local)
	})
}

func TestProxyFile(t *testing.T) {
	t.Run("req/S003-48", func(t *testing.T) {
		cfg := configtest.MustLoad(t, "config.json", `{
			"server": {"port": 3095, "host": "127.0.0.1", "cors": {"enabled": true, "origins": ["*"], "methods": ["GET", "POST", "OPTIONS"], "credentials": false, "allowedHeaders": ["Content-Type", "Authorization"]}},
			"cli": {"stdio": {"encoding": "utf8", "delimiter": "\n", "timeout": 30000}},
			"schemas": {
				"default": {"enabled": true, "mcpServers": {
					"fs": {"type": "stdio", "command": "npx", "args": ["x", "${DIR:-/tmp}"], "env": {}, "cwd": ".", "timeout": 30000, "restart": true, "restartDelay": 5000},
					"web": {"type": "http", "url": "https://h", "headers": {"A": "b"}, "timeout": 10000, "retries": 3, "retryDelay": 1000}}},
				"off": {"enabled": false, "mcpServers": {}}},
			"logging": {"level": "info", "file": "~/.mcps-proxy/logs/mcps-proxy.log", "maxSize": "10MB", "maxFiles": 5, "console": true}}`, nil)
		if len(cfg.Problems) != 1 { // req/C-34: origin * without access
			t.Errorf("problems = %v", cfg.Problems)
		}
		configtest.Warned(t, cfg, problem.AnyOrigin)
		if len(cfg.Server.CORS.Origins) != 0 || cfg.Logging.MaxSize != 10_000_000 || !cfg.Server.PortSet || cfg.Schemas[1].Enabled {
			t.Errorf("config = %+v", cfg)
		}
		if s := cfg.Schemas[0].Servers[0]; s.Args[1] != "/tmp" || s.Timeout != 30*time.Second {
			t.Errorf("server = %+v", s)
		}
	})
	t.Run("req/C-34 any origin", func(t *testing.T) {
		for content, want := range map[string]int{
			`{"server": {"cors": {"origins": ["*"]}}, "access": {"keys": "keys.json"}, "schemas": {}}`:              1,
			`{"server": {"cors": {"origins": ["*"], "allowAnyOrigin": true}}, "schemas": {}}`:                       1,
			`{"server": {"cors": {"origins": ["*", "https://a"]}}, "schemas": {}}`:                                  1,
			`{"server": {"cors": {"origins": ["*"], "credentials": true}}, "access": {"keys": "k"}, "schemas": {}}`: 0,
		} {
			if got := len(configtest.MustLoad(t, "a.json", content, nil).Server.CORS.Origins); got != want {
				t.Errorf("%d origins of %s, want %d", got, content, want)
			}
		}
	})
	t.Run("names", func(t *testing.T) {
		for _, name := range []string{"v1", "status", "s", "1a", "a b", ""} {
			refused(t, "a.json", `{"schemas": {"`+name+`": {}}}`, problem.SchemaName)
		}
	})
	t.Run("two shapes", func(t *testing.T) {
		p := refused(t, "a.json", `{"mcpServers": {"a": {"command": "x"}}, "mcp_servers": [{"name": "b", "command": "y"}]}`, problem.TwoShapes)
		if !strings.Contains(p.Message, "mcp_servers, and as mcpServers at line 1") {
			t.Errorf("problem = %v", p)
		}
		p = refused(t, "a.json", `{"mcpServers": {"a": {"command": "x"}}, "schemas": {"default": {"mcpServers": {}}}}`, problem.TwoShapes)
		if !strings.Contains(p.Hint, "schemas.default.mcpServers") {
			t.Errorf("problem = %v", p)
		}
	})
	t.Run("mcpServers beside schemas", func(t *testing.T) {
		cfg := configtest.MustLoad(t, "a.json", `{"schemas": {"work": {"mcpServers": {"b": {"command": "y"}}}}, "mcpServers": {"a": {"command": "x"}}}`, nil)
		if got := cfg.Names(); !slices.Equal(got, []string{"default", "work"}) || cfg.Schema("default").Server("a") == nil || cfg.Schema("work").Server("b") == nil {
			t.Errorf("schemas = %v", got)
		}
	})
}

// TestRetiredKeys loads files with keys that earlier versions read: each causes
// a warning with the reason, never an error.
func TestRetiredKeys(t *testing.T) {
	for _, c := range []struct{ text, path, why string }{
		{`{"mcpServers": {}, "exec": "wrapped"}`, "exec", "unchanged"},
		{`{"schemas": {"a": {"exec": "wrapped", "mcpServers": {}}}}`, "schemas.a.exec", "unchanged"},
		{`{"mcpServers": {}, "compact": {"names": "invoke"}}`, "compact.names", "always inspect and exec"},
		{`{"mcpServers": {}, "compact": {"structuredContent": true}}`, "compact.structuredContent", "unchanged"},
		{`{"mcp_servers": [], "include_structured_content": true}`, "include_structured_content", "unchanged"},
		{`{"mcpServers": {}, "compact": {"toon": true}}`, "compact.toon", "unchanged"},
		{`{"mcpServers": {}, "compact": {"toonMinSize": 3}}`, "compact.toonMinSize", "unchanged"},
	} {
		t.Run(c.path, func(t *testing.T) {
			cfg := loaded(t, configtest.Options(t, configtest.Write(t, "config.json", c.text), nil))
			if len(cfg.Problems) != 1 {
				t.Fatalf("problems = %v", cfg.Problems)
			}
			p := cfg.Problems[0]
			if p.Severity != problem.SeverityWarning || p.Code != problem.NoEffect || p.Path != c.path || !strings.Contains(p.Message, c.why) || p.Hint != "remove it" {
				t.Errorf("problem = %+v", p)
			}
		})
	}
}
