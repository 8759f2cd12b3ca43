package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/configtest"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/mcptest/must"
)

// loaded returns the config of a file that can be loaded.
func loaded(t *testing.T, o config.LoadOptions) *config.Config {
	t.Helper()
	cfg, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// update changes a file.
func update(t *testing.T, path string, o edit.WriteOptions, change func(*edit.Draft) error) *edit.WriteResult {
	t.Helper()
	res, err := edit.Update(path, o, change)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestPendingWrites checks what a client may write, and how a person approves
// it.
func TestPendingWrites(t *testing.T) {
	path := configtest.Write(t, "mcp.json", `{"mcpServers": {"own": {"command": "x"}}, "logging": {"level": "info"}}`)
	load := configtest.Options(t, path, nil)
	client := edit.WriteOptions{Load: load, Pending: true}
	propose := func(t *testing.T, name, entry string) *edit.WriteResult {
		t.Helper()
		return update(t, path, client, func(d *edit.Draft) error { return d.SetServer("", name, []byte(entry)) })
	}
	server := func(t *testing.T, name string) (*config.Config, *config.Server) {
		t.Helper()
		cfg := loaded(t, load)
		return cfg, cfg.Schemas[0].Server(name)
	}
	t.Run("fault/L1 a new entry waits", func(t *testing.T) {
		res := propose(t, "new", `{"command": "evil"}`)
		if diff := cmp.Diff([]string{"default/new"}, res.Pending); diff != "" {
			t.Errorf("pending (-want +got):\n%s", diff)
		}
		cfg, s := server(t, "new")
		if !s.Pending || s.Runnable() || cfg.Schemas[0].Server("own").Pending {
			t.Errorf("new = %+v", s)
		}
		configtest.Warned(t, cfg, problem.Pending)
	})
	t.Run("fault/L1 approval binds to what was shown", func(t *testing.T) {
		_, before := server(t, "new")
		shown := before.ApprovalHash()
		propose(t, "new", `{"command": "worse"}`)
		cfg, s := server(t, "new")
		if err := cfg.Approvals().Approve(s.ID(), shown); !errors.Is(err, approval.ErrChanged) {
			t.Errorf("approving the old entry = %v", err)
		}
		must.OK(t, cfg.Approvals().Approve(s.ID(), s.ApprovalHash()))
		if _, s = server(t, "new"); s.Pending {
			t.Error("still pending")
		}
	})
	t.Run("fault/L1 a change returns to pending", func(t *testing.T) {
		for _, entry := range []string{`{"command": "x", "args": ["a"]}`, `{"command": "x", "env": {"A": "b"}}`, `{"command": "x", "env": {"A": "c"}}`, `{"command": "x", "cwd": "/"}`, `{"command": "x", "enabled": false}`, `{"url": "http://h"}`, `{"command": "x"}`} {
			propose(t, "own", entry)
			cfg, s := server(t, "own")
			if s.Waiting == nil {
				t.Fatalf("%s does not wait", entry)
			}
			must.OK(t, cfg.Approvals().Approve(s.ID(), s.Waiting.ApprovalHash()))
		}
	})
	t.Run("a person's edit takes the mark away", func(t *testing.T) {
		propose(t, "hand", `{"command": "evil"}`)
		update(t, path, edit.WriteOptions{Load: load}, func(d *edit.Draft) error { return d.SetServer("", "hand", []byte(`{"command": "mine"}`)) })
		if _, s := server(t, "hand"); s.Pending {
			t.Error("still pending")
		}
	})
	t.Run("fault/L1 nothing but servers", func(t *testing.T) {
		before, _ := os.ReadFile(path)
		for _, content := range []string{
			`{"mcpServers": {"own": {"command": "x"}}, "logging": {"level": "debug"}}`,
			`{"mcpServers": {"own": {"command": "x"}}, "logging": {"level": "info"}, "access": {"enabled": false}}`,
			`{"schemas": {"default": {"mcpServers": {"own": {"command": "x"}}}}, "logging": {"level": "info"}}`,
		} {
			_, err := edit.Update(path, client, func(d *edit.Draft) error { return d.Replace([]byte(content)) })
			if !errors.Is(err, edit.ErrServersOnly) {
				t.Errorf("%s: %v", content, err)
			}
		}
		if after, _ := os.ReadFile(path); string(before) != string(after) {
			t.Error("the file changed")
		}
	})
	t.Run("a record that cannot be read", func(t *testing.T) {
		must.Write(t, path+".pending.json", "{")
		_, err := config.Load(load)
		configtest.ProblemOf(t, err, problem.Marks)
	})
}

// If a client replaces an entry of a person, the new entry waits and the old
// one stays in use.
func TestReplacedEntryCounts(t *testing.T) {
	const own = `{"command": "x", "env": {"A": "1"}, "deny": ["y"]}`
	path := configtest.Write(t, "mcp.json", `{"mcpServers": {"own": `+own+`}}`)
	load := configtest.Options(t, path, nil)
	propose := func(entry string) {
		t.Helper()
		update(t, path, edit.WriteOptions{Load: load, Pending: true}, func(d *edit.Draft) error { return d.SetServer("", "own", []byte(entry)) })
	}
	expect := func(when, command, waits string) *config.Config {
		t.Helper()
		cfg := loaded(t, load)
		s := cfg.Schemas[0].Server("own")
		got := ""
		if s.Waiting != nil {
			got = s.Waiting.Command
		}
		if !s.Runnable() || s.Command != command || got != waits {
			t.Errorf("%s: %s runs (%v), and %q waits", when, s.Command, s.Runnable(), got)
		}
		return cfg
	}
	expect("at first", "x", "")
	propose(`{"command": "evil"}`)
	cfg := expect("replaced", "x", "evil")
	if s := cfg.Schemas[0].Server("own"); len(s.Deny) != 1 || s.Env["A"].Reveal() != "1" {
		t.Errorf("what runs is not what it was: %+v", s)
	}
	propose(`{"command": "worse"}`)
	propose(`{"command": "evil"}`)
	expect("replaced again", "x", "evil")
	propose(own)
	expect("put back", "x", "")
	propose(`{"command": "other"}`)
	cfg = expect("replaced once more", "x", "other")
	must.OK(t, cfg.Approvals().Approve("default/own", cfg.Schemas[0].Server("own").Waiting.ApprovalHash()))
	expect("approved", "other", "")
	propose(`{"command": "late"}`)
	expect("replaced after that", "other", "late")
	// An entry that a person writes takes effect at once.
	update(t, path, edit.WriteOptions{Load: load}, func(d *edit.Draft) error { return d.SetServer("", "own", []byte(`{"command": "mine"}`)) })
	expect("written by a person", "mine", "")
}

// A client that replaces or removes an entry of a person cannot remove its
// restrictions unnoticed.
func TestTaken(t *testing.T) {
	const guarded = `{"command": "x", "deny": ["delete_*"], "pin": "hold", "tools": {"send": {"ask": true}, "wipe": {"enabled": false}}, "sandbox": {"hosts": "none"}}`
	settings := []string{`- deny: ["delete_*"]`, `- pin: "hold"`, `- sandbox: {"hosts":"none"}`, `- tools: {"send":{"ask":"true"},"wipe":{"enabled":"false"}}`}
	set := func(name, entry string) func(*edit.Draft) error {
		return func(d *edit.Draft) error { return d.SetServer("", name, []byte(entry)) }
	}
	remove := func(d *edit.Draft) error { return d.RemoveServer("", "fs") }
	own := approval.Taken{Server: "fs", Lines: settings}
	gone := approval.Taken{Server: "fs", Removed: true, Lines: settings}
	for name, tt := range map[string]struct {
		person []func(*edit.Draft) error // edits before those of the client
		edits  []func(*edit.Draft) error
		ask    string
		want   []approval.Taken
	}{
		"replaced":              {nil, []func(*edit.Draft) error{set("fs", `{"command": "x"}`)}, "fs", []approval.Taken{own}},
		"replaced twice":        {nil, []func(*edit.Draft) error{set("fs", `{"command": "y"}`), set("fs", `{"command": "x"}`)}, "fs", []approval.Taken{own}},
		"removed and added":     {nil, []func(*edit.Draft) error{remove, set("fs", `{"command": "x"}`)}, "fs", []approval.Taken{own}},
		"under another name":    {nil, []func(*edit.Draft) error{remove, set("fs2", `{"command": "x"}`)}, "fs2", []approval.Taken{gone}},
		"all at once":           {nil, []func(*edit.Draft) error{func(d *edit.Draft) error { return d.Replace([]byte(`{"mcpServers": {"fs2": {"command": "x"}}}`)) }}, "fs2", []approval.Taken{gone}},
		"weakened":              {nil, []func(*edit.Draft) error{set("fs", `{"command": "x", "deny": [], "pin": "hold", "tools": {"send": {"ask": true}, "wipe": {"enabled": false}}, "sandbox": {"hosts": "none"}}`)}, "fs", []approval.Taken{{Server: "fs", Lines: []string{settings[0], "+ deny: []"}}}},
		"kept":                  {nil, []func(*edit.Draft) error{set("fs", `{"command": "y", "deny": ["delete_*"], "pin": "hold", "tools": {"send": {"ask": true}, "wipe": {"enabled": false}}, "sandbox": {"hosts": "none"}}`)}, "fs", nil},
		"another":               {nil, []func(*edit.Draft) error{set("new", `{"command": "x"}`)}, "new", nil},
		"a person gave them up": {[]func(*edit.Draft) error{set("fs", `{"command": "x"}`)}, []func(*edit.Draft) error{set("fs", `{"command": "y"}`)}, "fs", nil},
		"a person removed it":   {[]func(*edit.Draft) error{remove}, []func(*edit.Draft) error{set("fs", `{"command": "y"}`)}, "fs", nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := configtest.Write(t, "mcp.json", `{"mcpServers": {"fs": `+guarded+`}}`)
			load := configtest.Options(t, path, nil)
			for _, change := range tt.person {
				update(t, path, edit.WriteOptions{Load: load}, change)
			}
			var res *edit.WriteResult
			for _, change := range tt.edits {
				res = update(t, path, edit.WriteOptions{Load: load, Pending: true, Agreed: []string{"default/fs"}}, change)
			}
			if diff := cmp.Diff(tt.want, res.Config.Schemas[0].Server(tt.ask).Taken); diff != "" {
				t.Errorf("asked at once (-want +got):\n%s", diff)
			}
			cfg := loaded(t, load)
			s := cfg.Schemas[0].Server(tt.ask).Waits()
			if s == nil {
				t.Fatal("it does not wait")
			}
			if diff := cmp.Diff(tt.want, s.Taken); diff != "" {
				t.Errorf("asked later (-want +got):\n%s", diff)
			}
			must.OK(t, cfg.Approvals().Approve(s.ID(), s.ApprovalHash()))
			res = update(t, path, edit.WriteOptions{Load: load, Pending: true}, set(tt.ask, `{"command": "z"}`))
			for _, taken := range res.Config.Schemas[0].Server(tt.ask).Taken {
				if taken.Server == tt.ask && name != "kept" && name != "weakened" {
					t.Errorf("shown again after its approval: %+v", taken)
				}
			}
		})
	}
}

func TestApprovalIgnoresValuesOfVariables(t *testing.T) {
	content := `{"mcpServers": {"a": {"command": "x", "env": {"K": "${V}"}}}}`
	one := configtest.MustLoad(t, "a.json", content, map[string]string{"V": "1"}).Schemas[0].Servers[0]
	two := configtest.MustLoad(t, "a.json", content, map[string]string{"V": "2"}).Schemas[0].Servers[0]
	if one.ApprovalHash() != two.ApprovalHash() {
		t.Error("a new value of a variable needs a new approval")
	}
	if one.Hash() == two.Hash() {
		t.Error("a new value of a variable keeps the old process")
	}
}

func TestConfine(t *testing.T) {
	o := configtest.Options(t, "", nil)
	dir := t.TempDir()
	current := configtest.Put(t, filepath.Join(dir, "mcp.json"), emptyFile)
	other := configtest.Put(t, filepath.Join(dir, "other.yaml"), "mcpServers: {}\n")
	configtest.Put(t, filepath.Join(o.Home, ".mcp-all-in-one", "mcp.json"), emptyFile)
	outside := configtest.Put(t, filepath.Join(t.TempDir(), "x.json"), emptyFile)
	for link, target := range map[string]string{"out.json": outside, "self.json": current} {
		must.OK(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	must.OK(t, os.Link(current, filepath.Join(dir, "hard.json")))
	for _, path := range []string{"", current, "mcp.json", "./mcp.json", "self.json", "hard.json", "sub/../mcp.json"} {
		if got, err := config.Confine(current, path, o); err != nil || got != current {
			t.Errorf("Confine(%q) = %q, %v, want %q", path, got, err, current)
		}
	}
	for _, path := range []string{
		"../../../etc/passwd", "/etc/passwd", outside, "out.json", dir, "mcp.json\x00", "~/.ssh/id_rsa", "..\\x.json",
		"mcp.json.pending.json", "secrets.key", "~/.mcp-all-in-one/secrets.enc", "~/.mcp-all-in-one/approvals.json", "no-such-dir/x.json",
		other, "other.yaml", "new.json", "~/.mcp-all-in-one/mcp.json",
	} {
		t.Run("door/11 "+filepath.Base(path), func(t *testing.T) {
			if got, err := config.Confine(current, path, o); !errors.Is(err, config.ErrConfined) || !strings.Contains(err.Error(), "路径遍历检测") {
				t.Errorf("Confine(%q) = %q, %v", path, got, err)
			}
		})
	}
}
