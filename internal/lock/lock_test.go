package lock

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcptest/must"
)

// npmRegistry serves one package, whose tarball can be replaced.
type npmRegistry struct {
	*httptest.Server
	mu      sync.Mutex
	tarball []byte
}

// publish replaces the tarball of swap-me 1.0.0, and its integrity with it.
func (r *npmRegistry) publish(t *testing.T, script, install string) {
	t.Helper()
	manifest := `{"name":"swap-me","version":"1.0.0","bin":{"swap-me":"index.js"}` + install + `}`
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tarball = must.TarGzip(t, map[string]string{"package/package.json": manifest, "package/index.js": script})
}

func integrityOf(data []byte) string {
	sum := sha512.Sum512(data)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

func newRegistry(t *testing.T) *npmRegistry {
	t.Helper()
	r := &npmRegistry{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch q.URL.Path {
		case "/swap-me":
			script := ""
			if r.hasScript() {
				script = `,"hasInstallScript":true`
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"name":"swap-me","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"swap-me","version":"1.0.0","bin":{"swap-me":"index.js"}%s,"dist":{"tarball":"%s/swap-me/-/swap-me-1.0.0.tgz","integrity":"%s"}}}}`,
				script, r.URL, integrityOf(r.tarball))
		case "/swap-me/-/swap-me-1.0.0.tgz":
			_, _ = w.Write(r.tarball)
		default:
			http.NotFound(w, q)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// hasScript reports whether the manifest in the tarball has an install script.
func (r *npmRegistry) hasScript() bool {
	z, err := gzip.NewReader(bytes.NewReader(r.tarball))
	if err != nil {
		return false
	}
	var all bytes.Buffer
	_, _ = all.ReadFrom(z)
	return bytes.Contains(all.Bytes(), []byte(`"postinstall"`))
}

// server writes a config file with one server that npx runs from a registry.
func server(t *testing.T, registry, more string) (string, *config.Server) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.json")
	content := fmt.Sprintf(`{"mcpServers":{"s":{"command":"npx","args":["-y","swap-me@1.0.0","arg"]%s,"env":{"npm_config_registry":%q,"npm_config_cache":%q}}}}`, more, registry, t.TempDir())
	must.Write(t, path, content)
	return path, load(t, path)
}

func load(t *testing.T, path string) *config.Server {
	t.Helper()
	cfg, err := config.Load(config.LoadOptions{Path: path, Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return cfg.Schema(config.DefaultSchema).Server("s")
}

// locked locks a server as the command does.
func locked(t *testing.T, path string, s *config.Server) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	staged, err := Stage(t.Context(), s, "", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	must.OK(t, f.Take(Key(s), staged, ""))
	if f, err = Open(path); err != nil {
		t.Fatal(err)
	}
	return f
}

const oldCode, newCode = "#!/usr/bin/env node\nconsole.log('old', process.argv[2])\n", "#!/usr/bin/env node\nconsole.log('new', process.argv[2])\n"

// A registry that serves other bytes under the same version, with a matching
// integrity, is detected. An existing installation still runs.
func TestSwappedTarball(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	r := newRegistry(t)
	r.publish(t, oldCode, "")
	was := integrityOf(r.tarball)
	path, s := server(t, r.URL, "")
	f := locked(t, path, s)
	e := f.Servers["s"]
	if e.Level != LevelTree || e.NPM != "swap-me@1.0.0" || e.Integrity != was || e.Packages != 1 || !strings.HasPrefix(e.Runtime, "node ") {
		t.Errorf("install/lock: locked as %+v", e)
	}
	runs := func() string {
		t.Helper()
		p, err := f.Hold(t.Context(), s, os.Environ())
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), p.Path, p.Args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	if got := runs(); got != "old arg" {
		t.Errorf("install/lock: it says %q", got)
	}
	r.publish(t, newCode, "")
	t.Run("install/lock/what is installed still runs", func(t *testing.T) {
		if got := runs(); got != "old arg" {
			t.Errorf("it says %q", got)
		}
	})
	t.Run("install/lock/swapped", func(t *testing.T) {
		t.Setenv("XDG_STATE_HOME", t.TempDir())
		_, other := server(t, r.URL, "")
		s.Env["npm_config_cache"] = other.Env["npm_config_cache"] // as on another machine
		_, err := f.Hold(t.Context(), s, os.Environ())
		want := fmt.Sprintf("s: swap-me@1.0.0 has %s, mcp.lock says %s: not started; the package was replaced, or the registry cannot be trusted", integrityOf(r.tarball), was)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v\nwant %s", err, want)
		}
	})
	t.Run("install/lock/a file was changed", func(t *testing.T) {
		p, err := f.Hold(t.Context(), s, os.Environ())
		if err != nil {
			t.Fatal(err)
		}
		changed := filepath.Join("node_modules", "swap-me", "index.js")
		for name, change := range map[string]func(path string) error{
			"at once": func(path string) error { return os.WriteFile(path, []byte(newCode), 0o700) },
			"with its old time": func(path string) error {
				info, err := os.Stat(path)
				if err == nil {
					err = os.WriteFile(path, []byte(newCode), 0o700) // the same length as the old code
				}
				if err == nil {
					err = os.Chtimes(path, info.ModTime(), info.ModTime())
				}
				return err
			},
			"by a link": func(path string) error {
				to := filepath.Join(t.TempDir(), "index.js")
				if err := os.WriteFile(to, []byte(oldCode), 0o700); err != nil {
					return err
				}
				_ = os.Remove(path)
				return os.Symlink(to, path)
			},
			"by a folder": func(path string) error {
				_ = os.Remove(path)
				return os.Mkdir(path, 0o700)
			},
		} {
			t.Run(name, func(t *testing.T) {
				must.OK(t, f.Verify(t.Context(), s))
				must.OK(t, change(p.Args[0]))
				want := "s: " + changed + " in " + p.Prefix + " was changed after the installation: not started"
				if _, err := f.Hold(t.Context(), s, os.Environ()); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("start: %v\nwant %s", err, want)
				}
				if err := f.Verify(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("verify: %v\nwant %s", err, want)
				}
				must.OK(t, os.RemoveAll(p.Args[0]))
				must.Program(t, p.Args[0], oldCode)
				if _, err := f.Hold(t.Context(), s, os.Environ()); err != nil {
					t.Errorf("as it was: %v", err)
				}
			})
		}
		t.Run("with a list in the folder, before another start", func(t *testing.T) {
			was, err := os.ReadFile(filesOf(p.Prefix))
			if err == nil {
				err = os.WriteFile(filepath.Join(p.Prefix, ".files"), bytes.ReplaceAll(was, []byte(hashedText([]byte(oldCode))), []byte(hashedText([]byte(newCode)))), 0o600)
			}
			if err == nil {
				err = os.WriteFile(p.Args[0], []byte(newCode), 0o700)
			}
			if err != nil {
				t.Fatal(err)
			}
			forget(p.Prefix) // as in another process
			if err := f.Verify(t.Context(), s); err == nil || !strings.Contains(err.Error(), changed) {
				t.Errorf("verify: %v", err)
			}
			must.OK(t, os.Remove(filepath.Join(p.Prefix, ".files")))
			must.Program(t, p.Args[0], oldCode)
		})
		t.Run("with its hash", func(t *testing.T) {
			list := filesOf(p.Prefix)
			was, err := os.ReadFile(list)
			if err == nil {
				err = os.WriteFile(list, bytes.ReplaceAll(was, []byte(hashedText([]byte(oldCode))), []byte(hashedText([]byte(newCode)))), 0o600)
			}
			if err == nil {
				err = os.WriteFile(p.Args[0], []byte(newCode), 0o700)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Hold(t.Context(), s, os.Environ()); err == nil || !strings.Contains(err.Error(), changed) {
				t.Errorf("start: %v", err)
			}
		})
	})
}

// A server that differs from the lock is not started.
func TestRefusals(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	r := newRegistry(t)
	r.publish(t, oldCode, "")
	path, s := server(t, r.URL, "")
	dir, saved := locked(t, path, s).Dir("s"), filepath.Join(t.TempDir(), "saved")
	must.OK(t, os.Rename(dir, saved))
	for name, tt := range map[string]struct {
		change func(t *testing.T, f *File)
		want   string
	}{
		"not there":       {func(_ *testing.T, f *File) { delete(f.Servers, "s") }, `s is not in mcp.lock; mcp-all-in-one lock s adds it`},
		"another entry":   {func(_ *testing.T, f *File) { f.Servers["s"].Entry = "sha256-x" }, "the entry of s differs from mcp.lock"},
		"another tree":    {func(_ *testing.T, f *File) { f.Servers["s"].Tree = "sha256-x" }, "mcp.lock says sha256-x: not started"},
		"another runtime": {func(_ *testing.T, f *File) { f.Servers["s"].Runtime = "node 1" }, "the lock was made for node 1, but this system has node "},
		"no integrity":    {func(t *testing.T, f *File) { edit(t, f, "package-lock.json", `"integrity"`, `"x"`) }, "its lock files have the hash"},
		// npm reads the first of these keys, and a reader that ignores case both.
		"a hidden integrity": {func(t *testing.T, f *File) {
			edit(t, f, "package-lock.json", `"integrity":`, `"integrity": "`+integrityOf([]byte("evil"))+`", "Integrity":`)
		}, "its lock files have the hash"},
		"a hidden link": {func(t *testing.T, f *File) {
			edit(t, f, "package-lock.json", `"integrity":`, `"link": true, "Link": false, "integrity":`)
		}, "its lock files have the hash"},
		"another package.json": {func(t *testing.T, f *File) { edit(t, f, "package.json", `{`, `{"workspaces": ["../.."],`) }, "its lock files have the hash"},
		"no lock files": {func(t *testing.T, f *File) {
			must.OK(t, os.RemoveAll(f.Dir("s")))
		}, "there are no lock files in"},
	} {
		t.Run("install/lock/"+name, func(t *testing.T) {
			must.OK(t, errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(saved))))
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			tt.change(t, f)
			if _, err := f.Hold(t.Context(), s, os.Environ()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if name != "another entry" {
				if err := f.Check(t.Context(), s); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("verify: %v, want %q", err, tt.want)
				}
			}
		})
	}
	t.Run("install/lock/scripts are named and not run", func(t *testing.T) {
		r.publish(t, oldCode, `,"scripts":{"postinstall":"node -e \"require('fs').writeFileSync('ran','')\""}`)
		path, s := server(t, r.URL, "")
		f := locked(t, path, s)
		if got := fmt.Sprint(f.Servers["s"].Scripts); got != "[swap-me@1.0.0]" {
			t.Errorf("scripts %s", got)
		}
		p, err := f.Hold(t.Context(), s, os.Environ())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(p.Args[0]), "ran")); err == nil {
			t.Error("the script ran")
		}
	})
	t.Run("install/lock/plain command", func(t *testing.T) {
		dir := t.TempDir()
		program := must.Program(t, filepath.Join(dir, "prog"), "#!/bin/sh\n")
		path := must.Write(t, filepath.Join(dir, "mcp.json"), fmt.Appendf(nil, `{"mcpServers":{"s":{"command":%q}}}`, program))
		s := load(t, path)
		f := locked(t, path, s)
		if _, err := f.Hold(context.Background(), s, nil); err != nil || f.Servers["s"].Level != LevelFile {
			t.Errorf("%v, %+v", err, f.Servers["s"])
		}
		must.Program(t, program, "#!/bin/sh\nexit 1\n")
		if _, err := f.Hold(t.Context(), s, nil); err == nil || !strings.Contains(err.Error(), "not started") {
			t.Error(err)
		}
	})
}

// hashedText returns the hash of a file with a text.
func hashedText(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + hex.EncodeToString(sum[:])
}

// edit replaces a text in a lock file of npm.
func edit(t *testing.T, f *File, name, from, to string) {
	t.Helper()
	file := filepath.Join(f.Dir("s"), name)
	data, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, bytes.Replace(data, []byte(from), []byte(to), 1), 0o600)
	}
	if err != nil || !bytes.Contains(data, []byte(from)) {
		t.Fatalf("%v: %s", err, data)
	}
}

// A package without an integrity cannot be locked.
func TestNoIntegrity(t *testing.T) {
	file := filepath.Join(t.TempDir(), "package-lock.json")
	for text, want := range map[string]string{
		`{"packages":{"":{},"node_modules/a":{"integrity":"x"},"node_modules/a/node_modules/b":{"inBundle":true}}}`: "",
		`{"packages":{"node_modules/a":{"version":"1"}}}`:                                                           "node_modules/a has no integrity",
		`{"packages":{"node_modules/a":{"link":true,"integrity":"x"}}}`:                                             "node_modules/a has no integrity",
	} {
		must.Write(t, file, text)
		if _, err := readTree(file); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("install/lock: %s: %v", text, err)
		}
	}
}

// The folder of a server's lock files is inside the folder of all of them.
func TestFolderOfServer(t *testing.T) {
	f := &File{path: "/x/mcp.lock"}
	for _, name := range []string{"s", ".", "..", "...", "../s", "a/..", "", ".hidden"} {
		if dir := f.Dir(name); filepath.Dir(dir) != "/x/mcp.lock.d" {
			t.Errorf("install/lock: %q is in %s", name, dir)
		}
	}
}

// Definitions that differ from the lock are withheld. A server that was locked
// without definitions may show any.
func TestAllows(t *testing.T) {
	f := &File{Servers: map[string]*Entry{
		"a": {Tools: map[string]string{"t": "1"}, Prompts: map[string]string{"p": "2"}, Instructions: "3"},
		"b": {},
	}}
	for _, tt := range []struct {
		id, kind, name, fingerprint string
		want                        bool
	}{
		{"a", "tool", "t", "1", true}, {"a", "tool", "t", "x", false}, {"a", "tool", "new", "1", false},
		{"a", "prompt", "p", "2", true}, {"a", "prompt", "p", "x", false}, {"a", "instructions", "instructions", "3", true}, {"a", "instructions", "instructions", "x", false},
		{"b", "tool", "t", "x", true}, {"c", "tool", "t", "x", false},
	} {
		if got := f.Allows(tt.id, tt.kind, tt.name, tt.fingerprint); got != tt.want {
			t.Errorf("install/lock: %+v is %v", tt, got)
		}
	}
}
