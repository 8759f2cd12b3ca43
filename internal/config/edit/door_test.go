package edit

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
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/mcptest/must"
)

// clientAdds writes an entry on behalf of a client.
func clientAdds(t *testing.T, path string, o config.LoadOptions, name, entry string) *WriteResult {
	t.Helper()
	res, err := Update(path, WriteOptions{Load: o, Pending: true}, func(d *Draft) error { return d.SetServer("", name, []byte(entry)) })
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// waits reports whether a server of the file at path waits for approval.
func waits(t *testing.T, path string, o config.LoadOptions, name string) bool {
	t.Helper()
	o.Path = path
	cfg, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return cfg.Schemas[0].Server(name).Pending
}

func link(t *testing.T, make func(old, new string) error, old, new string) string {
	t.Helper()
	must.OK(t, make(old, new))
	return new
}

// TestOneFileOneTruth reads the marks through every name of a file.
func TestOneFileOneTruth(t *testing.T) {
	dir := t.TempDir()
	file := configtest.Put(t, filepath.Join(dir, "a", "mcp.json"), emptyFile)
	soft := link(t, os.Symlink, file, filepath.Join(dir, "soft.json"))
	o := configtest.Options(t, file, nil)
	must.OK(t, os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "b")))
	clientAdds(t, soft, o, "x", `{"command": "evil"}`)
	hard := link(t, os.Link, file, filepath.Join(dir, "hard.json"))
	names := []string{file, soft, hard, filepath.Join(dir, "b", "mcp.json"), dir + "/a/../a/mcp.json"}
	t.Run("door/2 marked under one name, seen under all", func(t *testing.T) {
		for _, path := range names {
			if !waits(t, path, o, "x") {
				t.Errorf("%s: it does not wait", path)
			}
		}
	})
	t.Run("door/2 the first name is written anew", func(t *testing.T) {
		clientAdds(t, file, o, "y", `{"command": "evil"}`)
		clientAdds(t, file, o, "x", `{"command": "worse"}`)
		if !waits(t, hard, o, "x") {
			t.Error("under the second name it does not wait")
		}
	})
	t.Run("door/2 another spelling in the record", func(t *testing.T) {
		record := approval.RecordOf(file)
		data := must.Read(t, record)
		configtest.Put(t, record, strings.Replace(data, `"mcp.json"`, `"MCP.JSON"`, 1))
		if !waits(t, file, o, "x") {
			t.Error("it does not wait")
		}
	})
	t.Run("door/2 approved under one name, approved under all", func(t *testing.T) {
		for _, path := range []string{soft, hard} {
			load := o
			load.Path = path
			cfg, err := config.Load(load)
			if err != nil {
				t.Fatal(err)
			}
			s := cfg.Schemas[0].Server("x")
			must.OK(t, cfg.Approvals().Approve(s.ID(), s.ApprovalHash()))
		}
		for _, path := range names {
			if waits(t, path, o, "x") {
				t.Errorf("%s: it waits", path)
			}
		}
	})
}

// TestWaitingGoesOn changes an entry that waits for approval, by writers who
// have not read it: it must continue to wait.
func TestWaitingGoesOn(t *testing.T) {
	o := configtest.Options(t, "", nil)
	path := configtest.Write(t, "mcp.json", emptyFile)
	o.Path = path
	person := WriteOptions{Load: o}
	clientAdds(t, path, o, "x", `{"command": "evil", "env": {"K": "secret"}}`)
	for name, edit := range map[string]func(d *Draft) error{
		"switched off": func(d *Draft) error { return d.EnableServer("", "x", false) },
		"switched on":  func(d *Draft) error { return d.EnableServer("default", "x", true) },
		"a policy":     func(d *Draft) error { return d.ChangeServer("", "x", []byte(`{"command": "evil", "deny": ["a"]}`)) },
		"a hidden secret": func(d *Draft) error {
			return d.SetServer("", "x", []byte(`{"command": "evil", "timeout": 5, "env": {"K": "[REDACTED]"}}`))
		},
	} {
		t.Run("door/8 "+name, func(t *testing.T) {
			configtest.Put(t, path, `{"mcpServers": {}}`)
			clientAdds(t, path, o, "x", `{"command": "evil", "env": {"K": "secret"}}`)
			if _, err := Update(path, person, edit); err != nil {
				t.Fatal(err)
			}
			if !waits(t, path, o, "x") {
				t.Error("it does not wait")
			}
		})
	}
	t.Run("door/8 removed and put back", func(t *testing.T) {
		configtest.Put(t, path, `{"mcpServers": {}}`)
		clientAdds(t, path, o, "x", `{"command": "evil"}`)
		var was []byte
		for _, edit := range []func(d *Draft) error{
			func(d *Draft) error { was = d.Entry("", "x"); return d.RemoveServer("", "x") },
			func(d *Draft) error { return d.ChangeServer("", "x", was) },
		} {
			if _, err := Update(path, person, edit); err != nil {
				t.Fatal(err)
			}
		}
		if !waits(t, path, o, "x") {
			t.Error("it does not wait")
		}
	})
	t.Run("door/8 typed by a person", func(t *testing.T) {
		if _, err := Update(path, person, func(d *Draft) error { return d.SetServer("", "x", []byte(`{"command": "mine"}`)) }); err != nil {
			t.Fatal(err)
		}
		if waits(t, path, o, "x") {
			t.Error("it waits")
		}
	})
	t.Run("door/8 a write that fails leaves the old entry waiting", func(t *testing.T) {
		configtest.Put(t, path, `{"mcpServers": {}}`)
		clientAdds(t, path, o, "z", `{"command": "evil"}`)
		_, err := Update(path, WriteOptions{Load: o, Pending: true, disk: noRename{}}, func(d *Draft) error { return d.SetServer("", "z", []byte(`{"command": "worse"}`)) })
		if err == nil {
			t.Fatal("it did not fail")
		}
		if !waits(t, path, o, "z") {
			t.Error("it does not wait")
		}
	})
}

// noRename is a disk that is full when a file is renamed.
type noRename struct{ disk.OS }

func (noRename) Rename(string, string) error { return errors.New("no space left on device") }

// TestEarlierRecords reads records of versions that did not hash the whole
// entry.
func TestEarlierRecords(t *testing.T) {
	for _, project := range []bool{false, true} {
		o := configtest.Options(t, "", nil)
		o.Project = project
		path := configtest.Write(t, "mcp.json", `{"mcpServers": {"x": {"command": "a"}, "own": {"command": "a"}}}`)
		o.Path = path
		record, key := approval.RecordOf(path), "mcp.json"
		if project {
			record, key = filepath.Join(folders.UserDir(o.Home), "approvals.json"), path
		}
		raw := must.JSON(t, map[string]map[string]string{key: {"default/x": strings.Repeat("0", 64)}})
		configtest.Put(t, record, string(raw))
		t.Run("door/8 it waits, and says why", func(t *testing.T) {
			cfg, err := config.Load(o)
			if err != nil {
				t.Fatal(err)
			}
			if !cfg.Schemas[0].Server("x").Pending || cfg.Schemas[0].Server("own").Pending != project {
				t.Errorf("pending: %v", cfg.Problems)
			}
			if p := configtest.Warned(t, cfg, problem.Pending); !strings.Contains(p.Hint, "earlier version") || !strings.Contains(p.HintZH, "早期版本") {
				t.Errorf("hint: %s / %s", p.Hint, p.HintZH)
			}
			s := cfg.Schemas[0].Server("x")
			must.OK(t, cfg.Approvals().Approve(s.ID(), s.ApprovalHash()))
			if waits(t, path, o, "x") {
				t.Error("approved, and it waits")
			}
		})
	}
}

// TestEntryIsWhole compares the shown and hashed entry with the file.
func TestEntryIsWhole(t *testing.T) {
	load := func(t *testing.T, name, content string) *config.Server {
		t.Helper()
		return configtest.MustLoad(t, name, content, map[string]string{"V": "value"}).Schemas[0].Servers[0]
	}
	t.Run("door/5 shown as written", func(t *testing.T) {
		s := load(t, "a.json", `{"mcpServers": {"a": {"command": "x", "env": {"K": "${V}", "L": "lit\u202eeral"}, "deny": ["t"], "unheard": 1e3}}}`)
		want := "{\n  \"command\": \"x\",\n  \"env\": {\n    \"K\": \"${V}\",\n    \"L\": \"lit\\u202eeral\"\n  },\n  \"deny\": [\n    \"t\"\n  ],\n  \"unheard\": 1e3\n}"
		if diff := cmp.Diff(want, s.Entry()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	base := load(t, "a.json", `{"mcpServers": {"a": {"command": "x", "args": ["1"], "deny": ["t"]}}}`).ApprovalHash()
	for _, same := range []string{
		`{"mcpServers": {"a": {"deny": ["t"], "args": ["1"], "command": "x"}}}`, "mcpServers:\n  a:\n    command: x\n    args: ['1']\n    deny: [t] # why\n",
	} {
		name := "a.json"
		if !strings.HasPrefix(same, "{") {
			name = "a.yaml"
		}
		t.Run("door/8 the same entry, "+name, func(t *testing.T) {
			if load(t, name, same).ApprovalHash() != base {
				t.Error("it has another hash")
			}
		})
	}
	t.Run("door/8 numbers as a program gets them", func(t *testing.T) {
		one, other := load(t, "a.yaml", "mcpServers: {a: {command: x, args: [16]}}\n"), load(t, "a.yaml", "mcpServers: {a: {command: x, args: [0x10]}}\n")
		if one.ApprovalHash() == other.ApprovalHash() || !strings.Contains(other.Entry(), "0x10") {
			t.Errorf("shown %s", other.Entry())
		}
	})
	t.Run("door/8 tools denied for the whole file", func(t *testing.T) {
		one, other := load(t, "a.json", `{"mcp_servers": [{"name": "a", "command": "x"}], "disabled_tools": ["a.t"]}`), load(t, "a.json", `{"mcp_servers": [{"name": "a", "command": "x"}]}`)
		if one.ApprovalHash() == other.ApprovalHash() || !strings.Contains(one.Entry(), "disabled_tools") {
			t.Errorf("shown %s", one.Entry())
		}
	})
	t.Run("door/8 the order of keys decides nothing", func(t *testing.T) {
		one, other := load(t, "a.json", `{"mcpServers": {"a": {"serverUrl": "http://one", "httpUrl": "http://two"}}}`), load(t, "a.json", `{"mcpServers": {"a": {"httpUrl": "http://two", "serverUrl": "http://one"}}}`)
		if one.URL != other.URL || one.ApprovalHash() != other.ApprovalHash() {
			t.Errorf("%s and %s", one.URL, other.URL)
		}
	})
}

// TestErrorsNameReferences puts an invalid value into a variable, uses it in
// every key, and checks that no message contains the value.
func TestErrorsNameReferences(t *testing.T) {
	const held = "LEAKED value"
	env := map[string]string{"HELD": held}
	check := func(t *testing.T, content string) {
		t.Helper()
		cfg, err := config.Load(configtest.Options(t, configtest.Write(t, "a.json", content), env))
		texts := []string{}
		if err != nil {
			var le *problem.LoadError
			if !errors.As(err, &le) {
				t.Fatal(err)
			}
			for _, p := range le.Problems {
				texts = append(texts, p.String(), p.MessageZH, p.HintZH)
			}
		} else {
			for _, p := range cfg.Problems {
				texts = append(texts, p.String(), p.MessageZH, p.HintZH)
			}
		}
		if all := strings.Join(texts, "\n"); strings.Contains(all, "LEAKED") {
			t.Errorf("%s: %s", content, all)
		}
	}
	for _, key := range []string{
		`"type": "${HELD}"`, `"args": "${HELD}"`, `"cwd": "${HELD}"`, `"env": {"A": "${HELD}"}`, `"headers": {"A": "${HELD}\n"}`, `"auth": "${HELD}"`, `"auth": {"issuer": "${HELD}"}`,
		`"auth": {"allow": ["${HELD}"]}`, `"auth": {"port": "${HELD}"}`, `"enabled": "${HELD}"`, `"timeout": "${HELD}"`, `"retries": "${HELD}"`, `"inheritEnv": "${HELD}"`, `"share": "${HELD}"`,
		`"protocol": "${HELD}"`, `"validate": "${HELD}"`, `"pin": "${HELD}"`, `"tools": {"t": "${HELD}"}`, `"tools": {"t": {"ask": "${HELD}"}}`, `"allow": "${HELD}"`,
	} {
		t.Run("door/3 "+key, func(t *testing.T) {
			check(t, `{"mcpServers": {"a": {"command": "x", `+key+`}}}`)
			check(t, `{"mcpServers": {"a": {"url": "http://h", `+key+`}}}`)
		})
	}
	for _, entry := range []string{`{"command": "${HELD}"}`, `{"url": "${HELD}"}`, `{"url": "http://u:${HELD}@"}`, `{"command": "x", "url": "${HELD}"}`, `"${HELD}"`} {
		t.Run("door/3 "+entry, func(t *testing.T) { check(t, `{"mcpServers": {"a": `+entry+`}}`) })
	}
	for _, top := range []string{
		`"server": {"host": "${HELD}"}`, `"server": {"port": "${HELD}"}`, `"logging": {"level": "${HELD}"}`, `"logging": {"maxSize": "${HELD}"}`, `"roots": [{"uri": "${HELD}"}]`, `"roots": ["${HELD}"]`,
		`"sampling": {"url": "${HELD}"}`, `"access": {"keys": "${HELD}"}`, `"access": {"oauth": {"issuer": "${HELD}"}}`, `"tracing": {"url": "${HELD}"}`, `"mode": "${HELD}"`, `"startWait": "${HELD}"`,
		`"limits": {"sessions": "${HELD}"}`, `"cli": {"stdio": {"delimiter": "${HELD}"}}`, `"cli": {"stdio": {"timeout": "${HELD}"}}`,
	} {
		t.Run("door/3 "+top, func(t *testing.T) { check(t, `{"mcpServers": {}, `+top+`}`) })
	}
}
