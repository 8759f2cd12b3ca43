package edit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/configtest"
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/mcptest/must"
)

const jsonBefore = `// my servers
{
  // shown first
  "mcpServers": {
    "one": { // the one
      "command": "npx", // runner
      "args": ["-y", "one"],
      "env": { "KEY": "hunter2" }
    },
    // about two
    "two": {
      "url": "https://h/mcp" // remote
    }
    // the end
  },
  "logging": { "level": "debug" } // loud
}
`

const yamlBefore = `# my servers
mcpServers:
  one: # the one
    command: npx # runner
    args: ["-y", one]
    env:
      KEY: hunter2

  # about two
  two:
    url: https://h/mcp # remote

# loud
logging:
  level: debug
`

// update edits a file and returns its new content.
func update(t *testing.T, name, content string, edit func(*Draft) error) string {
	t.Helper()
	path := configtest.Write(t, name, content)
	if _, err := Update(path, WriteOptions{Load: configtest.Options(t, "", nil)}, edit); err != nil {
		t.Fatalf("Update: %v", err)
	}
	return must.Read(t, path)
}

func TestEditsKeepTheRest(t *testing.T) {
	add := func(d *Draft) error {
		return d.SetServer("", "three", []byte(`{"command": "x", "args": ["a b"], "env": {"N": "1"}}`))
	}
	for _, tt := range []struct {
		name, file, before string
		edit               func(*Draft) error
		old, new           string // the only text that changes
	}{
		{"json add", "a.json", jsonBefore, add,
			"    }\n    // the end\n  },", "    },\n    // the end\n    \"three\": {\n      \"command\": \"x\",\n      \"args\": [\"a b\"],\n      \"env\": {\n        \"N\": \"1\"\n      }\n    }\n  },"},
		{"json remove", "a.json", jsonBefore, func(d *Draft) error { return d.RemoveServer("", "two") },
			"    },\n    // about two\n    \"two\": {\n      \"url\": \"https://h/mcp\" // remote\n    }\n    // the end\n", "    }\n    // the end\n"},
		{"json disable", "a.json", jsonBefore, func(d *Draft) error { return d.EnableServer("", "two", false) },
			"\"https://h/mcp\" // remote\n", "\"https://h/mcp\", // remote\n      \"enabled\": false\n"},
		{"json change", "a.json", jsonBefore, func(d *Draft) error {
			return d.SetServer("", "one", []byte(`{"command": "uvx", "args": ["-y", "one"], "env": {"KEY": "[REDACTED]"}}`))
		}, `"npx"`, `"uvx"`},
		{"yaml add", "a.yaml", yamlBefore, add,
			"mcp # remote\n", "mcp # remote\n  three:\n    command: x\n    args: [\"a b\"]\n    env:\n      N: \"1\"\n"},
		{"yaml remove", "a.yaml", yamlBefore, func(d *Draft) error { return d.RemoveServer("", "two") },
			"  two:\n    url: https://h/mcp # remote\n", ""},
		{"yaml disable", "a.yaml", yamlBefore, func(d *Draft) error { return d.EnableServer("", "two", false) },
			"mcp # remote\n", "mcp # remote\n    enabled: false\n"},
		{"yaml change", "a.yaml", yamlBefore, func(d *Draft) error {
			return d.SetServer("", "one", []byte(`{"command": "uvx", "args": ["-y", "one"], "env": {"KEY": "[REDACTED]"}}`))
		}, "npx #", "uvx #"},
		{"yaml flow list", "a.yaml", yamlBefore, func(d *Draft) error {
			return d.SetServer("", "one", []byte(`{"command": "npx", "args": ["-y", "two"], "env": {"KEY": "hunter2"}}`))
		}, `args: ["-y", one]`, `args: ["-y","two"]`},
		{"one line", "a.json", `{"mcpServers": {"a": {"command": "x"}}}`, add, `"x"}}}`, `"x"}, "three": {"command": "x", "args": ["a b"], "env": {"N": "1"}}}}`},
		{"first", "a.json", "{\n\t\"mcpServers\": {}\n}\n", add, "{}", "{\n\t\t\"three\": {\n\t\t\t\"command\": \"x\",\n\t\t\t\"args\": [\"a b\"],\n\t\t\t\"env\": {\n\t\t\t\t\"N\": \"1\"\n\t\t\t}\n\t\t}\n\t}"},
		{"first yaml", "a.yaml", "# c\nmcpServers: {}\n", add, " {}\n", "\n  three:\n    command: x\n    args: [\"a b\"]\n    env:\n      N: \"1\"\n"},
		{"disabled key", "a.json", `{"mcpServers": {"a": {"command": "x", "disabled": true}}}`, func(d *Draft) error { return d.EnableServer("", "a", true) }, "true", "false"},
		{"list add", "a.json", "{\"mcp_servers\": [\n  {\"name\": \"a\", \"command\": \"x\"}, // a\n]}", add, "// a\n", "// a\n  {\n    \"name\": \"three\",\n    \"command\": \"x\",\n    \"args\": [\"a b\"],\n    \"env\": {\n      \"N\": \"1\"\n    }\n  },\n"},
		{"list remove", "a.yaml", "mcp_servers:\n  # a\n  - name: a\n    command: x\n  # b\n  - name: b\n    command: y # why\n", func(d *Draft) error { return d.RemoveServer("", "a") }, "  - name: a\n    command: x\n", ""},
		{"list change", "a.yaml", "mcp_servers:\n  - name: a\n    command: x # why\n", func(d *Draft) error { return d.SetServer("", "a", []byte(`{"command": "y"}`)) }, "x #", "y #"},
		{"schema add", "a.yaml", "schemas:\n  work: # w\n    mcpServers:\n      a: {command: x}\n  other:\n    enabled: false\n", func(d *Draft) error { return d.SetServer("work", "b", []byte(`{"command": "y"}`)) }, "{command: x}\n", "{command: x}\n      b:\n        command: y\n"},
		{"schema first", "a.yaml", "schemas:\n  work: # w\n    enabled: true\n", func(d *Draft) error { return d.SetServer("work", "b", []byte(`{"command": "y"}`)) }, "enabled: true\n", "enabled: true\n    mcpServers:\n      b:\n        command: y\n"},
		{"crlf", "a.yaml", "mcpServers:\r\n  a: # c\r\n    command: x\r\n", func(d *Draft) error { return d.EnableServer("", "a", false) }, "x\r\n", "x\r\n    enabled: false\r\n"},
		{"yaml flow entry", "a.yaml", "mcpServers:\n  # c\n  a: {command: x, env: {A: b, C: d}}\n  b: {command: y}\n", func(d *Draft) error {
			return d.SetServer("", "a", []byte(`{"command": "z", "env": {"A": "c", "C": "e"}}`))
		}, "  a: {command: x, env: {A: b, C: d}}\n", "  a:\n    command: z\n    env:\n      A: c\n      C: e\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Count(tt.before, tt.old) != 1 {
				t.Fatalf("%q is not one place of the file", tt.old)
			}
			want := strings.Replace(tt.before, tt.old, tt.new, 1)
			if diff := cmp.Diff(want, update(t, tt.file, tt.before, tt.edit)); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReplaceKeepsSecretsAndComments(t *testing.T) {
	for name, before := range map[string]string{"a.json": jsonBefore, "a.yaml": yamlBefore} {
		t.Run(name, func(t *testing.T) {
			shown, err := Redact([]byte(before))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(shown), "hunter2") || !strings.Contains(string(shown), Redacted) {
				t.Errorf("shown:\n%s", shown)
			}
			after := update(t, name, before, func(d *Draft) error { return d.Replace(shown) })
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("putting back what was shown changed the file (-want +got):\n%s", diff)
			}
			after = update(t, name, before, func(d *Draft) error {
				return d.Replace([]byte(strings.Replace(string(shown), `"npx"`, `"uvx"`, 1)))
			})
			if diff := cmp.Diff(strings.Replace(before, "npx", "uvx", 1), after); diff != "" {
				t.Errorf("one changed word (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("no secret there", func(t *testing.T) {
		_, err := Update(configtest.Write(t, "a.json", emptyFile), WriteOptions{Load: configtest.Options(t, "", nil)}, func(d *Draft) error {
			return d.SetServer("", "x", []byte(`{"command": "x", "env": {"K": "[REDACTED]"}}`))
		})
		if err == nil {
			t.Error("[REDACTED] was stored as a value")
		}
	})
}

func TestRedact(t *testing.T) {
	in := `{"mcpServers": {"a": {"command": "x", "env": {"A": "${A}", "B": "lit", "C": "${C:-lit}", "D": 5},
		"headers": {"Authorization": "Bearer ${T}", "X": "Bearer abc"}, "url": "https://h/?api_key=abc", "cwd": "/x"}},
		"sampling": {"key": "sk"}, "inbox": {"webhook": {"url": "https://hooks.example/T0/B0/x", "format": "slack"}}}`
	want := `{"mcpServers":{"a":{"command":"x","env":{"A":"${A}","B":"[REDACTED]","C":"[REDACTED]","D":"[REDACTED]"},"headers":{"Authorization":"Bearer ${T}","X":"[REDACTED]"},"url":"[REDACTED]","cwd":"/x"}},"sampling":{"key":"[REDACTED]"},"inbox":{"webhook":{"url":"[REDACTED]","format":"slack"}}}`
	got, err := Redact([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	flat := document.Parse(got, document.FormatJSON, &problem.List{}).AppendJSON(nil, "", "")
	if diff := cmp.Diff(want, string(flat)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBackups(t *testing.T) {
	path := configtest.Write(t, "mcp.json", emptyFile)
	must.OK(t, os.Chmod(path, 0o640))
	now := time.Date(2025, 1, 2, 3, 4, 5, 678e6, time.UTC)
	o := WriteOptions{Load: configtest.Options(t, "", nil), Now: func() time.Time { return now }}
	var names []string
	for i := range 8 {
		res, err := Update(path, o, func(d *Draft) error { return d.SetServer("", "s", []byte(`{"command": "c`+string(rune('a'+i))+`"}`)) })
		if err != nil {
			t.Fatal(err)
		}
		names = append([]string{res.Backup}, names...)
	}
	if want := path + ".backup.2025-01-02T03-04-05-678Z"; names[7] != want {
		t.Errorf("first backup = %s, want %s", names[7], want)
	}
	if diff := cmp.Diff(names[:5], disk.Backups(path)); diff != "" {
		t.Errorf("backups (-want +got):\n%s", diff)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
	t.Run("no change", func(t *testing.T) {
		res, err := Update(path, o, func(d *Draft) error { return d.SetServer("", "s", []byte(`{"command": "ch"}`)) })
		if err != nil || res.Changed || res.Backup != "" {
			t.Errorf("result = %+v, %v", res, err)
		}
	})
	t.Run("invalid", func(t *testing.T) {
		before, _ := os.ReadFile(path)
		_, err := Update(path, o, func(d *Draft) error { return d.SetServer("", "s", []byte(`{"args": []}`)) })
		configtest.ProblemOf(t, err, problem.NoTarget)
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Error("an invalid file was written")
		}
	})
}

// The last backup of a person's version is kept, no matter how often a client
// writes.
func TestBackupsOfAPerson(t *testing.T) {
	path := configtest.Write(t, "mcp.json", emptyFile)
	o := WriteOptions{Load: configtest.Options(t, path, nil)}
	set := func(o WriteOptions, command string) *WriteResult {
		t.Helper()
		res, err := Update(path, o, func(d *Draft) error { return d.SetServer("", "s", []byte(`{"command": "`+command+`"}`)) })
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	client := o
	client.Pending = true
	kept := func(command string) bool {
		for _, name := range disk.Backups(path) {
			if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), `"`+command+`"`) {
				return true
			}
		}
		return false
	}
	for range 2 {
		for i := range 8 {
			set(o, "mine"+string(rune('a'+i)))
		}
		for i := range 12 {
			set(client, "theirs"+string(rune('a'+i)))
			if !kept("mineh") {
				t.Fatalf("after %d writes of a client the person's version is gone: %q", i+1, disk.Backups(path))
			}
		}
		if n := len(disk.Backups(path)); n > disk.KeptBackups+1 {
			t.Errorf("%d backups", n)
		}
	}
	must.Write(t, path, `{"mcpServers": {"s": {"command": "by-hand"}}}`)
	for i := range 12 {
		set(client, "theirs"+string(rune('a'+i)))
	}
	if !kept("by-hand") || kept("mineh") {
		t.Errorf("the version that was written by hand: %q", disk.Backups(path))
	}
}

func TestWritersTakeTurns(t *testing.T) {
	path := configtest.Write(t, "mcp.json", emptyFile)
	link := filepath.Join(t.TempDir(), "link.json")
	must.OK(t, os.Symlink(path, link))
	o := WriteOptions{Load: configtest.Options(t, "", nil)}
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = Update(link, o, func(d *Draft) error {
				return d.SetServer("", "s"+string(rune('a'+i)), []byte(`{"command": "x"}`))
			})
		})
	}
	wg.Wait()
	must.OK(t, errors.Join(errs...))
	cfg, err := config.Load(configtest.Options(t, path, nil))
	if err != nil || len(cfg.Schemas[0].Servers) != 20 {
		t.Errorf("%d servers, %v", len(cfg.Schemas[0].Servers), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}
