package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/configtest"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/mcptest/must"
)

const stored = `{"mcpServers": {"own": {"scripts": {"say": {"description": "Say it.", "file": "say.js"}, "sum": {"code": "return %s"}}%s}}}`

// TestScriptsWaitForApproval changes scripts in several ways: they run only as
// a person has approved them, whoever wrote them.
func TestScriptsWaitForApproval(t *testing.T) {
	for _, project := range []bool{false, true} {
		t.Run(fmt.Sprintf("project=%t", project), func(t *testing.T) {
			path := configtest.Write(t, "mcp.json", "{}")
			code := configtest.Put(t, filepath.Join(filepath.Dir(path), "say.js"), "return `hi ${args.who}`\n")
			load := configtest.Options(t, path, map[string]string{"args.who": "nobody"})
			load.Project = project
			write := func(sum, more string) {
				t.Helper()
				text := fmt.Sprintf(stored, sum, more)
				if project { // its scripts have no files
					text = strings.Replace(text, `"file": "say.js"`, "\"code\": \"return `hi ${args.who}`\"", 1)
				}
				configtest.Put(t, path, text)
			}
			write("1", "")
			server := func() (*config.Config, *config.Server) {
				t.Helper()
				cfg := loaded(t, load)
				return cfg, cfg.Schemas[0].Server("own")
			}
			approved := func() *config.Server {
				t.Helper()
				cfg, s := server()
				if !s.Pending || s.Runnable() {
					t.Fatal("it does not wait")
				}
				must.OK(t, cfg.Approvals().Approve(s.ID(), s.ShownHash()))
				if _, s = server(); s.Pending {
					t.Fatal("it still waits")
				}
				return s
			}
			cfg, s := server()
			configtest.Warned(t, cfg, problem.Pending)
			must.Contain(t, s.Entry(), "scripts.say:", "  return `hi ${args.who}`", "scripts.sum:", "  return 1")
			if s = approved(); s.Scripts["say"].Code != "return `hi ${args.who}`" || s.Type != config.TypeScripts {
				t.Errorf("it is %+v", s.Scripts)
			}
			cfg, s = server()
			shown := s.ShownHash()
			if configtest.Put(t, code, "return 'other'\n"); project {
				write("3", "")
			}
			if err := cfg.Approvals().Approve(s.ID(), shown); !errors.Is(err, approval.ErrChanged) {
				t.Errorf("approving code that was not shown = %v", err)
			}
			approved()
			write("2", "")
			approved()
			if project {
				return // in a project, every change of an entry waits
			}
			write("2", `, "timeout": "9s"`)
			if _, s := server(); s.Pending {
				t.Error("what is not a script waits, too")
			}
		})
	}
}

// TestScriptsOfClients lets a client replace a script that a person has approved.
func TestScriptsOfClients(t *testing.T) {
	path := configtest.Write(t, "mcp.json", `{"mcpServers": {"own": {"scripts": {"sum": {"code": "return 1"}}}}}`)
	load := configtest.Options(t, path, nil)
	server := func() (*config.Config, *config.Server) {
		t.Helper()
		cfg := loaded(t, load)
		return cfg, cfg.Schemas[0].Server("own")
	}
	cfg, s := server()
	must.OK(t, cfg.Approvals().Approve(s.ID(), s.ShownHash()))
	replace := func(code string) {
		t.Helper()
		update(t, path, edit.WriteOptions{Load: load, Pending: true, By: "key:1"}, func(d *edit.Draft) error {
			return d.SetServer("", "own", []byte(`{"scripts": {"sum": {"code": "`+code+`"}}}`))
		})
	}
	replace("return 2")
	cfg, s = server()
	if s.Pending || s.Scripts["sum"].Code != "return 1" || s.Waiting == nil {
		t.Fatalf("the approved script does not go on: %+v", s)
	}
	if by := cfg.Approvals().Asker(s.ID(), s.Waiting.ShownHash()); by != "key:1" {
		t.Errorf("the record says that %q asked for it", by)
	}
	must.OK(t, cfg.Approvals().Approve(s.ID(), s.Waiting.ShownHash()))
	if _, s = server(); s.Pending || s.Scripts["sum"].Code != "return 2" {
		t.Errorf("after the approval it is %+v", s)
	}
	// A person who writes through the gateway does not approve scripts without
	// seeing them.
	update(t, path, edit.WriteOptions{Load: load}, func(d *edit.Draft) error {
		return d.SetServer("", "own", []byte(`{"scripts": {"sum": {"code": "return 3"}}}`))
	})
	if _, s = server(); !s.Pending {
		t.Error("a new script runs, and nobody has approved it")
	}
}

// TestScriptFiles names files as scripts that no script may have: nothing of
// them is shown.
func TestScriptFiles(t *testing.T) {
	secret := configtest.Put(t, filepath.Join(t.TempDir(), "secret.js"), "hunter2")
	for _, tt := range []struct {
		file    string
		project bool
	}{
		{file: secret}, {file: "../secret.js"}, {file: "below/../../secret.js"}, {file: "~/secret.js"}, {file: "out.js"}, {file: "below/secret.js"},
		{file: "key.js"}, {file: "mcp.json"}, {file: "mcp.json.pending.json"}, {file: ".env"}, {file: "self.js"}, {file: "say.js", project: true},
	} {
		t.Run(fmt.Sprintf("%s project=%t", filepath.Base(tt.file), tt.project), func(t *testing.T) {
			path := configtest.Write(t, "mcp.json", fmt.Sprintf(`{"mcpServers": {"own": {"scripts": {"a": {"file": %q}}}}}`, tt.file))
			dir := filepath.Dir(path)
			for _, name := range []string{"say.js", ".env", "keys.json", "mcp.json.pending.json"} {
				configtest.Put(t, filepath.Join(dir, name), "{}")
			}
			for link, to := range map[string]string{"out.js": secret, "below": filepath.Dir(secret), "key.js": "keys.json", "self.js": "mcp.json"} {
				must.OK(t, os.Symlink(to, filepath.Join(dir, link)))
			}
			load := configtest.Options(t, path, nil)
			load.Project = tt.project
			_, err := config.Load(load)
			if p := configtest.ProblemOf(t, err, problem.Script); !strings.Contains(p.Message, "file") || strings.Contains(p.Message, "hunter2") {
				t.Errorf("it says %q", p.Message)
			}
		})
	}
	t.Run("a link that stays below", func(t *testing.T) {
		path := configtest.Write(t, "mcp.json", `{"mcpServers": {"own": {"scripts": {"a": {"file": "now.js"}}}}}`)
		dir := filepath.Dir(path)
		must.Folder(t, dir, "v1")
		configtest.Put(t, filepath.Join(dir, "v1", "a.js"), "return 7")
		must.OK(t, os.Symlink(filepath.Join("v1", "a.js"), filepath.Join(dir, "now.js")))
		cfg, err := config.Load(configtest.Options(t, path, nil))
		if err != nil || !strings.Contains(cfg.Schemas[0].Server("own").Entry(), "return 7") {
			t.Errorf("loading = %v", err)
		}
	})
	t.Run("of a client", func(t *testing.T) {
		path := configtest.Write(t, "mcp.json", `{"mcpServers": {"own": {"scripts": {"a": {"file": "say.js"}}}}}`)
		configtest.Put(t, filepath.Join(filepath.Dir(path), "say.js"), "return 1")
		o := edit.WriteOptions{Load: configtest.Options(t, path, nil), Pending: true, By: "key:1"}
		for _, file := range []string{"say.js", "none.js", "/etc/shadow"} {
			_, err := edit.Update(path, o, func(d *edit.Draft) error {
				return d.SetServer("", "leak", fmt.Appendf(nil, `{"scripts": {"a": {"file": %q}}}`, file))
			})
			if want := `script "a" of default/leak names a file: put the code into "code", or let a person add the entry to the config file`; err == nil || err.Error() != want {
				t.Errorf("writing %s = %v", file, err)
			}
		}
		if _, err := edit.Update(path, o, func(d *edit.Draft) error {
			return d.SetServer("", "own", []byte(`{"scripts": {"a": {"file": "say.js"}}, "enabled": false}`))
		}); err != nil {
			t.Errorf("switching off scripts of a person = %v", err)
		}
	})
}

func TestBadScripts(t *testing.T) {
	for _, tt := range []struct{ entry, code, says string }{
		{`{"command": "x", "scripts": {"a": {"code": "return 1"}}}`, problem.TwoTargets, "both command and scripts"},
		{`{"url": "http://h/", "scripts": {"a": {"code": "return 1"}}}`, problem.TwoTargets, "both url and scripts"},
		{`{"type": "http", "scripts": {"a": {"code": "return 1"}}}`, problem.TypeTarget, "needs a command or a url"},
		{`{"type": "scripts", "url": "http://h/"}`, problem.TypeTarget, "needs scripts"},
		{`{"type": "scripts"}`, problem.NoTarget, "neither command nor url"},
		{`{"scripts": {}}`, problem.NoTarget, "neither command nor url"},
		{`{"scripts": {"a": true}}`, problem.WrongType, "must be an object"},
		{`{"scripts": {"a": {}}}`, problem.Script, "has no code"},
		{`{"scripts": {"a": {"code": " "}}}`, problem.Script, "has no code"},
		{`{"scripts": {"a": {"code": "return 1", "file": "a.js"}}}`, problem.Script, "both code and file"},
		{`{"scripts": {"a b": {"code": "return 1"}}}`, problem.Script, "white space"},
		{`{"scripts": {"a": {"code": "` + strings.Repeat("x", 64<<10+1) + `"}}}`, problem.Script, "65537 bytes of code, and the most is 65536"},
		{`{"scripts": {"a": {"code": "return 1", "arguments": {"type": "string"}}}}`, problem.Script, "no JSON Schema"},
		{`{"scripts": {"a": {"code": "return 1", "arguments": 5}}}`, problem.Script, "no JSON Schema"},
	} {
		t.Run(tt.says, func(t *testing.T) {
			path := configtest.Write(t, "mcp.json", `{"mcpServers": {"own": `+tt.entry+`}}`)
			_, err := config.Load(configtest.Options(t, path, nil))
			if p := configtest.ProblemOf(t, err, tt.code); !strings.Contains(p.Message, tt.says) {
				t.Errorf("it says %q", p.Message)
			}
		})
	}
	t.Run("a file that is not there", func(t *testing.T) {
		cfg := configtest.MustLoad(t, "mcp.json", `{"mcpServers": {"own": {"scripts": {"a": {"file": "none.js"}}}}}`, nil)
		s := cfg.Schemas[0].Server("own")
		if s.Runnable() || !strings.Contains(s.Entry(), "none.js") {
			t.Errorf("it is %+v", s)
		}
		must.OK(t, cfg.Approvals().Approve(s.ID(), s.ShownHash()))
	})
}
