package config_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/configtest"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestVariablesEverywhere(t *testing.T) {
	env := map[string]string{"V": "val", "ON": "false", "T": "1500"}
	t.Run("req/B25 arrays", func(t *testing.T) {
		s := configtest.MustLoad(t, "a.json", `{"mcpServers": {"s": {"command": "${V}", "args": ["a", "${V}"], "env": {"K": "${V}"}, "cwd": "/${V}", "enabled": "${ON}", "timeout": "${T}"}}}`, env).Schemas[0].Servers[0]
		if s.Command != "val" || s.Args[1] != "val" || s.Env["K"].Reveal() != "val" || s.Cwd != "/val" || s.Enabled || s.Timeout.Milliseconds() != 1500 {
			t.Errorf("server = %+v", s)
		}
	})
	t.Run("req/A13 one server only", func(t *testing.T) {
		cfg := configtest.MustLoad(t, "a.json", `{"mcpServers": {
			"time": {"command": "uvx", "args": ["mcp-server-time"]},
			"zhipu": {"type": "http", "url": "https://open.bigmodel.cn/mcp", "headers": {"Authorization": "Bearer ${Z_AI_API_KEY}"}},
			"odd": {"type": "http", "url": "${BASE}/mcp", "timeout": "${TIMEOUT}"}}}`, nil)
		s := cfg.Schemas[0]
		if !s.Server("time").Runnable() || s.Server("zhipu").Runnable() || s.Server("odd").Runnable() {
			t.Errorf("runnable: %v %v %v", s.Server("time").Runnable(), s.Server("zhipu").Runnable(), s.Server("odd").Runnable())
		}
		if diff := cmp.Diff([]string{"Z_AI_API_KEY"}, s.Server("zhipu").Vars); diff != "" {
			t.Errorf("req/C-20 vars (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"BASE", "TIMEOUT"}, s.Server("odd").Missing); diff != "" {
			t.Errorf("missing (-want +got):\n%s", diff)
		}
	})
	t.Run("top", func(t *testing.T) {
		cfg := configtest.MustLoad(t, "a.json", `{"mcpServers": {}, "sampling": {"url": "https://h", "key": "${GONE}"}, "logging": {"file": "logs/x.log"}, "audit": {"file": "a.jsonl"}}`, nil)
		if cfg.Sampling.Key != "" {
			t.Errorf("key = %q", cfg.Sampling.Key.Reveal())
		}
		if p := configtest.Warned(t, cfg, problem.UndefTop); p.Path != "sampling.key" {
			t.Errorf("problem = %v", p)
		}
		if want := filepath.Join(filepath.Dir(cfg.Path), "logs", "x.log"); cfg.Logging.File != want {
			t.Errorf("log file = %s, want %s", cfg.Logging.File, want)
		}
		if want := filepath.Join(filepath.Dir(cfg.Path), "a.jsonl"); cfg.Audit.File != want {
			t.Errorf("audit file = %s, want %s", cfg.Audit.File, want)
		}
	})
	t.Run("access fails closed", func(t *testing.T) {
		p := refused(t, "a.json", `{"mcpServers": {}, "access": {"keys": "${GONE}"}}`, problem.UndefTop)
		if p.Path != "access.keys" {
			t.Errorf("problem = %v", p)
		}
	})
	t.Run("values stay out of messages", func(t *testing.T) {
		_, err := config.Load(configtest.Options(t, configtest.Write(t, "a.json", `{"mcpServers": {"s": {"url": "${V}", "type": "${V}"}}}`), map[string]string{"V": "hunter2"}))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("error = %v", err)
		}
	})
}

func TestSecretNeverPrints(t *testing.T) {
	s := config.Server{Name: "s", Env: map[string]config.Secret{"K": "hunter2"}, Headers: map[string]config.Secret{"H": "hunter2"}}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", s.Env["K"], "env", s.Env, "server", s)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s.Env["K"], "env", s.Env, "server", s)
	js := must.JSON(t, s)
	all := log.String() + string(js) + fmt.Sprintf("%v %+v %#v %s %q", s, s, s, s.Env["K"], s.Env["K"])
	if strings.Contains(all, "hunter2") {
		t.Errorf("a secret shows in %s", all)
	}
	if !strings.Contains(all, "***") || s.Env["K"].Reveal() != "hunter2" {
		t.Errorf("nothing stands for the secret in %s", all)
	}
}
