package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/configtest"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/mcptest/must"
)

const emptyFile = `{"mcpServers": {}}`

// TestDiscoverOrder repeatedly removes the file that was found, and so tests
// the whole list.
func TestDiscoverOrder(t *testing.T) {
	for personality, own := range map[config.Personality]string{
		config.MCPAllInOne: ".mcp-all-in-one/mcp.json", config.MCPSProxy: ".mcps-proxy/config.json", config.MCPX: ".mcpx/config.json",
	} {
		t.Run(string(personality), func(t *testing.T) {
			env := map[string]string{}
			o := configtest.Options(t, "", env)
			o.Personality = personality
			xdg := t.TempDir()
			env["XDG_CONFIG_HOME"] = xdg
			flag := configtest.Put(t, filepath.Join(o.WorkDir, "flag.json"), emptyFile)
			fromEnv := configtest.Put(t, filepath.Join(o.Home, "env.json"), emptyFile)
			project := configtest.Put(t, filepath.Join(o.WorkDir, ".mcp.json"), emptyFile)
			rest := []string{
				configtest.Put(t, filepath.Join(o.Home, own), emptyFile),
				configtest.Put(t, filepath.Join(xdg, "mcp-all-in-one/config.yaml"), "mcpServers: {}\n"),
				configtest.Put(t, filepath.Join(xdg, "mcp-all-in-one/config.json"), emptyFile),
				configtest.Put(t, filepath.Join(o.System, "config.yaml"), "mcpServers: {}\n"),
				configtest.Put(t, filepath.Join(o.System, "config.json"), emptyFile),
			}
			env[config.EnvConfig] = "~/env.json"
			o.Path = "flag.json"
			expectPath(t, o, flag)
			o.Path = ""
			expectPath(t, o, fromEnv)
			delete(env, config.EnvConfig)
			for _, want := range rest {
				expectPath(t, o, want)
				must.OK(t, os.Remove(want))
			}
			found, err := config.Discover(o)
			configtest.ProblemOf(t, err, problem.NotFound)
			if diff := cmp.Diff(rest, found.Tried); diff != "" {
				t.Errorf("tried (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{project}, found.Skipped); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
			o.Project = true
			expectPath(t, o, project)
		})
	}
}

func expectPath(t *testing.T, o config.LoadOptions, want string) {
	t.Helper()
	cfg, err := config.Load(o)
	if err != nil {
		t.Fatalf("Load: %v, want %s", err, want)
	}
	if cfg.Path != want {
		t.Errorf("path = %s, want %s", cfg.Path, want)
	}
}

func TestCreate(t *testing.T) {
	for _, tt := range []struct {
		personality config.Personality
		own         string // "" if no file is created
		shape       layout.Shape
	}{
		{config.MCPAllInOne, ".mcp-all-in-one/mcp.json", layout.ShapeServers},
		{config.MCPSProxy, ".mcps-proxy/config.json", layout.ShapeSchemas},
		{config.MCPX, "", ""},
		{config.MCPTester, "", ""},
	} {
		t.Run(string(tt.personality), func(t *testing.T) {
			o := configtest.Options(t, "", nil)
			o.Personality = tt.personality
			_, err := config.Load(o) // as `config validate` does
			configtest.ProblemOf(t, err, problem.NotFound)
			o.Create = true
			cfg, err := config.Load(o)
			if tt.own == "" {
				configtest.ProblemOf(t, err, problem.NotFound)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Path != filepath.Join(o.Home, tt.own) || !cfg.Created || cfg.Shape != tt.shape || len(cfg.Problems) > 0 {
				t.Errorf("config = %+v", cfg)
			}
			if again, err := config.Load(o); err != nil || again.Created {
				t.Errorf("second start: %+v, %v", again, err)
			}
		})
	}
	t.Run("req/A20 nothing else creates", func(t *testing.T) {
		o := configtest.Options(t, filepath.Join(t.TempDir(), "sub", "gone.json"), nil)
		_, err := config.Load(o)
		configtest.ProblemOf(t, err, problem.NotFound)
		if _, err := os.Stat(filepath.Dir(o.Path)); err == nil {
			t.Error("a directory was created")
		}
		o.Create = true
		if cfg, err := config.Load(o); err != nil || !cfg.Created {
			t.Errorf("at start: %v, %v", cfg, err)
		}
	})
}

func TestProject(t *testing.T) {
	o := configtest.Options(t, "", nil)
	root := o.WorkDir
	configtest.Put(t, filepath.Join(root, ".git", "HEAD"), "")
	file := configtest.Put(t, filepath.Join(root, ".mcp.json"), `{"mcpServers": {"a": {"command": "x", "args": ["1"]}, "b": {"command": "y"}}, "sampling": {"url": "https://evil", "key": "${HOME}"}}`)
	o.WorkDir = filepath.Join(root, "deep", "down")
	must.Folder(t, o.WorkDir)
	o.Project = true
	load := func() *config.Config {
		t.Helper()
		cfg := loaded(t, o)
		return cfg
	}
	cfg := load()
	a, b := cfg.Schemas[0].Servers[0], cfg.Schemas[0].Servers[1]
	if cfg.Path != file || !a.Pending || !b.Pending || a.Runnable() {
		t.Fatalf("a = %+v", a)
	}
	configtest.Warned(t, cfg, problem.ProjectKey)
	if cfg.Sampling.URL != "" {
		t.Error("a project's file set the sampling endpoint")
	}
	must.OK(t, cfg.Approvals().Approve(a.ID(), a.ApprovalHash()))
	cfg = load()
	if s := cfg.Schemas[0]; s.Servers[0].Pending || !s.Servers[1].Pending {
		t.Errorf("after approving a: %v %v", s.Servers[0].Pending, s.Servers[1].Pending)
	}
	configtest.Put(t, file, `{"mcpServers": {"a": {"command": "x", "args": ["2"]}}}`)
	if cfg = load(); !cfg.Schemas[0].Servers[0].Pending {
		t.Error("a changed entry kept its approval")
	}
	if err := cfg.Approvals().Approve(cfg.Schemas[0].Servers[0].ID(), a.ApprovalHash()); err != approval.ErrChanged {
		t.Errorf("approving what was not seen = %v", err)
	}
}
