package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// A locker is the program with its own home and config file.
type locker struct {
	dir, path string
}

func newLocker(t *testing.T, servers map[string]any) *locker {
	t.Helper()
	l := &locker{dir: t.TempDir()}
	l.path = filepath.Join(l.dir, "mcp.json")
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *locker) run(t *testing.T, args ...string) (text string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), mcptest.BuildProduct(t), append(args, "-c", l.path)...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+l.dir, "MCP_AIO_LANG=en", "NO_COLOR=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // the exit code reports the failure
	return out.String(), cmd.ProcessState.ExitCode()
}

// change replaces the first match in a file next to the config file.
func (l *locker) change(t *testing.T, name, pattern, by string) {
	t.Helper()
	path := filepath.Join(l.dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(pattern).FindIndex(data)
	if at == nil {
		t.Fatalf("no %s in %s", pattern, data)
	}
	if err := os.WriteFile(path, append(append(append([]byte{}, data[:at[0]]...), by...), data[at[1]:]...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLockPyPI locks the published time server from the index that uv is
// configured with.
func TestLockPyPI(t *testing.T) {
	t.Parallel()
	uvx := filepath.Join(cache, "python", "bin", "uvx")
	l := newLocker(t, map[string]any{"time": map[string]any{"command": uvx, "args": []string{"mcp-server-time"}}})
	t.Run("install/lock/pypi", func(t *testing.T) {
		text, code := l.run(t, "lock")
		if code != 0 || !regexp.MustCompile(`locked: time, tree mcp-server-time==\S+, \d\d packages, 2 tools`).MatchString(text) {
			t.Fatalf("exit code %d: %s", code, text)
		}
		if text, code := l.run(t, "lock", "verify", "--tools"); code != 0 {
			t.Errorf("exit code %d: %s", code, text)
		}
	})
	t.Run("install/lock/pypi starts", func(t *testing.T) {
		cmd := mcptest.Product(t, "stdio", "--locked", "-c", l.path)
		cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+l.dir)
		gw := mcptest.StartStdio(t, cmd)
		gw.Initialize(mcp.V2025_11_25, `{}`)
		m := gw.Ask(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"time__get_current_time","arguments":{"timezone":"UTC"}}}`)
		if m.Error != nil || !strings.Contains(m.Raw, "datetime") {
			t.Errorf("it is %s", m.Raw)
		}
	})
	t.Run("install/lock/verify tools", func(t *testing.T) {
		l.change(t, "mcp.lock", `"convert_time": "[^"]+"`, `"convert_time": "sha256-0", "gone": "sha256-1"`)
		report := filepath.Join(l.dir, "report.xml")
		text, code := l.run(t, "lock", "verify", "--tools", "--junit", report)
		for _, want := range []string{"time: tool convert_time differs from mcp.lock", "time: tool gone is in mcp.lock, but the server does not list it"} {
			if code != 1 || !strings.Contains(text, want) {
				t.Errorf("exit code %d: %s\nwant %s", code, text, want)
			}
		}
		xml, err := os.ReadFile(report)
		if err != nil || !strings.Contains(string(xml), `tests="1" failures="1"`) || !strings.Contains(string(xml), `name="time"`) || !strings.Contains(string(xml), "tool gone is in mcp.lock") {
			t.Errorf("%s, %v", xml, err)
		}
		if text, code := l.run(t, "lock", "verify"); code != 0 {
			t.Errorf("without --tools: exit code %d: %s", code, text)
		}
	})
	t.Run("install/lock/pypi file", func(t *testing.T) {
		name, err := filepath.Rel(l.dir, l.timeServer(t))
		if err != nil {
			t.Fatal(err)
		}
		l.change(t, name, `$`, "\n")
		if text, code := l.run(t, "lock", "verify"); code != 1 || !strings.Contains(text, "mcp_server_time/server.py in ") || !strings.Contains(text, "was changed after the installation") {
			t.Errorf("exit code %d: %s", code, text)
		}
	})
	t.Run("install/lock/pypi compiled", func(t *testing.T) { compiledForged(t, l) })
	t.Run("install/lock/pypi tree", func(t *testing.T) {
		l.change(t, filepath.Join("mcp.lock.d", "time", "uv.lock"), `hash = "sha256:[0-9a-f]{8}`, `hash = "sha256:00000000`)
		if text, code := l.run(t, "lock", "verify"); code != 1 || !strings.Contains(text, "its lock files have the hash") {
			t.Errorf("exit code %d: %s", code, text)
		}
	})
}

// timeServer returns the code of the published time server, as installed.
func (l *locker) timeServer(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(l.dir, "mcp-all-in-one", "prefix", "*", ".venv", "lib", "python*", "site-packages", "mcp_server_time", "server.py"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	return found[0]
}

// forge compiles other code to the place where Python looks for the compiled
// form of a file, with the size and time that Python checks.
const forge = `
import importlib.util, marshal, os, sys
source, mark = sys.argv[1:]
state = os.stat(source)
code = compile("open(%r, 'w').close()\n" % mark + open(source).read(), source, "exec")
path = importlib.util.cache_from_source(source)
os.makedirs(os.path.dirname(path), exist_ok=True)
with open(path, "wb") as f:
    f.write(importlib.util.MAGIC_NUMBER + (0).to_bytes(4, "little"))
    f.write(int(state.st_mtime).to_bytes(4, "little") + state.st_size.to_bytes(4, "little"))
    f.write(marshal.dumps(code))
`

// compiledForged checks that the lock covers compiled code like any other file,
// and that running a server does not change its files.
func compiledForged(t *testing.T, l *locker) {
	source := l.timeServer(t)
	prefix, _, _ := strings.Cut(source, string(filepath.Separator)+".venv")
	if err := os.RemoveAll(prefix); err != nil {
		t.Fatal(err)
	}
	if text, code := l.run(t, "lock", "time"); code != 0 {
		t.Fatalf("exit code %d: %s", code, text)
	}
	if text, code := l.run(t, "lock", "verify", "--tools"); code != 0 {
		t.Fatalf("as it was installed: exit code %d: %s", code, text)
	}
	mark := filepath.Join(t.TempDir(), "ran")
	if out, err := exec.CommandContext(t.Context(), filepath.Join(prefix, ".venv", "bin", "python"), "-c", forge, source, mark).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, args := range [][]string{{"lock", "verify"}, {"lock", "verify", "--tools"}} {
		if text, code := l.run(t, args...); code != 1 || !regexp.MustCompile(`mcp_server_time/__pycache__/server\.\S+\.pyc in .* was changed after the installation`).MatchString(text) {
			t.Errorf("%v: exit code %d: %s", args, code, text)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the forged code ran")
	}
	if err := os.RemoveAll(prefix); err != nil {
		t.Fatal(err)
	}
}

// TestLockBuild checks that a package that exists only as source is not built
// without consent.
func TestLockBuild(t *testing.T) {
	t.Parallel()
	l := newLocker(t, map[string]any{"old": map[string]any{"command": filepath.Join(cache, "python", "bin", "uvx"), "args": []string{"docopt==0.6.2"}}})
	t.Run("install/lock/build refused", func(t *testing.T) {
		text, code := l.run(t, "lock")
		if code != 1 || !strings.Contains(text, "these packages have to be built, which runs their code: docopt==0.6.2; --allow-build accepts that") {
			t.Errorf("exit code %d: %s", code, text)
		}
		if _, err := os.Stat(filepath.Join(l.dir, "mcp.lock")); err == nil {
			t.Error("it is locked all the same")
		}
	})
	t.Run("install/lock/build allowed", func(t *testing.T) {
		text, code := l.run(t, "lock", "--allow-build")
		if code != 0 || !strings.Contains(text, "locked: old, tree docopt==0.6.2, 1 package,") {
			t.Fatalf("exit code %d: %s", code, text)
		}
		installed, err := filepath.Glob(filepath.Join(l.dir, "*", "prefix", "*", ".venv", "lib", "python*", "site-packages", "docopt.py"))
		if err != nil || len(installed) != 1 {
			t.Errorf("%v, %v: %s", installed, err, fmt.Sprint(text))
		}
	})
}

// TestLockUpgrade checks that a newer version of a published server is shown
// before it is used.
func TestLockUpgrade(t *testing.T) {
	t.Parallel()
	const before, after = "@modelcontextprotocol/server-filesystem@2026.1.14", "@modelcontextprotocol/server-filesystem@2026.8.31"
	l := newLocker(t, map[string]any{"files": map[string]any{"command": "npx", "args": []string{"-y", before, "${PWD}"}}})
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(l.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if text, code := l.run(t, "lock", "upgrade", "files"); code != 1 || !strings.Contains(text, "files is not in mcp.lock") {
		t.Errorf("before it is locked, exit code %d: %s", code, text)
	}
	if text, code := l.run(t, "lock"); code != 0 {
		t.Fatalf("exit code %d: %s", code, text)
	}
	t.Run("install/lock/upgrade changes nothing before a yes", func(t *testing.T) {
		config, lock := read("mcp.json"), read("mcp.lock")
		text, code := l.run(t, "lock", "upgrade", "files")
		for _, want := range []string{before + " -> " + after, "~ @modelcontextprotocol/server-filesystem 2026.1.14 -> 2026.8.31", "~ tool move_file", ".annotations.destructiveHint: false, then true", "--yes"} {
			if code == 0 || !strings.Contains(text, want) {
				t.Errorf("exit code %d: %s\nwant %s", code, text, want)
			}
		}
		if read("mcp.json") != config || read("mcp.lock") != lock {
			t.Error("a file has changed")
		}
	})
	t.Run("install/lock/upgrade refusals", func(t *testing.T) {
		for want, args := range map[string][]string{
			`"../files" is not a version`: {"files", "--to", "../files"},
			"No matching version":         {"files", "--to", "99.9.9"},
			"no server gone":              {"gone"},
		} {
			if text, code := l.run(t, append([]string{"lock", "upgrade", "--yes"}, args...)...); code == 0 || !strings.Contains(text, want) {
				t.Errorf("%v: exit code %d: %s", args, code, text)
			}
		}
	})
	t.Run("install/lock/upgrade takes it", func(t *testing.T) {
		if text, code := l.run(t, "lock", "upgrade", "files", "--yes", "--to", "2026.8.31"); code != 0 || !strings.Contains(text, "locked: files, "+after) {
			t.Fatalf("exit code %d: %s", code, text)
		}
		if config := read("mcp.json"); !strings.Contains(config, after) || !strings.Contains(config, "${PWD}") {
			t.Errorf("the config file is %s", config)
		}
		if text, code := l.run(t, "lock", "verify", "--tools"); code != 0 {
			t.Errorf("exit code %d: %s", code, text)
		}
		if text, code := l.run(t, "lock", "upgrade", "files", "--to", "2026.8.31"); code != 0 || !strings.Contains(text, "nothing to upgrade") {
			t.Errorf("again, exit code %d: %s", code, text)
		}
	})
}
