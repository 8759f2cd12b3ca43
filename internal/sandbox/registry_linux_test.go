//go:build amd64 || arm64

package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/mcptest/must"
)

// runConfined is a Run that starts a launcher.
func runConfined(t *testing.T) Run {
	return func(_ context.Context, p Program, profile Profile) ([]byte, error) {
		out, ok := launch(t, profile, nil, p)
		if !ok {
			t.Fatalf("%s %q: %s", p.Path, p.Args, out)
		}
		return []byte(out), nil
	}
}

// names returns the hosts of a source.
func names(s source) []string {
	var list []string
	for _, h := range s.hosts {
		list = append(list, h.name)
	}
	slices.Sort(list)
	return list
}

func TestRegistriesOfNPM(t *testing.T) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"npm_config_registry", "NPM_CONFIG_REGISTRY", "npm_config_userconfig", "NPM_CONFIG_USERCONFIG"} {
		t.Setenv(name, "")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	file := "registry=https://npm.example.com:8443/npm\n@work:registry = http://10.0.0.5:4873/\n//npm.example.com:8443/:_authToken=secret\n"
	must.Write(t, filepath.Join(home, ".npmrc"), file)
	other := must.Program(t, filepath.Join(t.TempDir(), "npm"), "#!/bin/sh\necho '{\"registry\": \"https://anywhere.example.com\", \"cafile\": \"/etc/shadow\"}'\n")
	path := "PATH=" + os.Getenv("PATH")
	for _, tt := range []struct {
		name, npm string
		env       []string
		want      []string
		secret    bool
	}{
		{"of the person", npm, nil, []string{"10.0.0.5", "npm.example.com"}, true},
		{"of the entry", npm, []string{"npm_config_registry=https://entry.example.com"}, []string{"entry.example.com"}, false},
		{"of the person, for another npm", other, nil, []string{"10.0.0.5", "npm.example.com"}, false},
		{"of the entry, for another npm", other, []string{"npm_config_registry=https://entry.example.com"}, []string{"entry.example.com"}, false},
	} {
		t.Run("install/registry npm "+tt.name, func(t *testing.T) {
			folder, err := ownFolder(filepath.Join(t.TempDir(), "work"))
			if err != nil {
				t.Fatal(err)
			}
			s, err := npmSource(t.Context(), tt.npm, folder, append(tt.env, path), runConfined(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, names(s)); diff != "" {
				t.Error(diff)
			}
			secret := false
			for _, file := range s.read {
				data, _ := os.ReadFile(file)
				secret = secret || strings.Contains(string(data), "secret")
			}
			if secret != tt.secret {
				t.Errorf("it may read tokens: %v, in %q", secret, s.read)
			}
		})
	}
}

func TestIndexesOfUV(t *testing.T) {
	for _, name := range []string{"UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_CONFIG_FILE", "UV_NO_CONFIG"} {
		t.Setenv(name, "")
	}
	dir := t.TempDir()
	uv := must.Program(t, filepath.Join(dir, "uv-of-the-user", "uv"), "")
	t.Setenv("PATH", filepath.Dir(uv))
	t.Setenv("XDG_CONFIG_HOME", dir)
	file := filepath.Join(dir, "uv", "uv.toml")
	must.Folder(t, filepath.Dir(file))
	for _, tt := range []struct {
		name, file     string
		env, want      []string
		standard, more string
	}{
		{"none", "", nil, []string{"files.pythonhosted.org", "pypi.org"}, "", ""},
		{"index-url", "index-url = \"https://a.example.com/simple\"\nextra-index-url = [\"https://b.example.com/simple\"]", nil,
			[]string{"a.example.com", "b.example.com"}, "https://a.example.com/simple", "https://b.example.com/simple"},
		{"index", "[[index]]\nname = \"work\"\nurl = \"https://a.example.com/simple\"\n[[index]]\nurl = \"https://b.example.com/simple\"\ndefault = true\n" +
			"[[index]]\nname = \"other\"\nurl = \"https://c.example.com\"\nexplicit = true", nil,
			[]string{"a.example.com", "b.example.com"}, "https://b.example.com/simple", "work=https://a.example.com/simple"},
		{"of the entry", `index-url = "https://a.example.com/simple"`, []string{"UV_INDEX=mine=https://entry.example.com"},
			[]string{"entry.example.com", "files.pythonhosted.org", "pypi.org"}, "", "mine=https://entry.example.com"},
		{"two defaults", "", []string{"UV_DEFAULT_INDEX=https://a.example.com", "UV_INDEX_URL=https://b.example.com"},
			[]string{"a.example.com"}, "https://a.example.com", ""},
	} {
		t.Run("install/registry uv "+tt.name, func(t *testing.T) {
			must.Write(t, file, tt.file)
			s, err := uvSource(uv, t.TempDir(), tt.env)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, names(s)); diff != "" {
				t.Error(diff)
			}
			if got := getEnv(s.env, "UV_DEFAULT_INDEX"); got != tt.standard {
				t.Errorf("default index %q", got)
			}
			if got := getEnv(s.env, "UV_INDEX"); got != tt.more {
				t.Errorf("indexes %q", got)
			}
		})
	}
	t.Run("install/registry uv wrong", func(t *testing.T) {
		must.Write(t, file, "index-url = 1")
		if _, err := uvSource(uv, t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("error: %v", err)
		}
	})
}

// TestStrangeTools checks that a package manager which an entry names gets no
// password of the user, and with a registry of the entry no private network.
func TestStrangeTools(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("PATH", home)
	t.Setenv("UV_EXTRA_INDEX_URL", "https://me:hidden@extra.example.com/simple")
	t.Setenv("npm_config_registry", "https://me:hidden@npm.example.com/")
	must.Folder(t, home, "uv")
	must.Write(t, filepath.Join(home, "uv", "uv.toml"), "index-url = \"https://me:hidden@a.example.com/simple\"\nextra-index-url = [\"https://hidden@b.example.com\"]")
	read := map[string]func(env []string) (source, error){
		"uv": func(env []string) (source, error) { return uvSource(filepath.Join(dir, "uv"), dir, env) },
		"npm": func(env []string) (source, error) {
			return npmSource(t.Context(), filepath.Join(dir, "npm"), dir, env, nil)
		},
	}
	for tool, entry := range map[string]string{"uv": "UV_INDEX=https://a.example.com", "npm": "npm_config_registry=https://a.example.com"} {
		s, err := read[tool](toolEnv(os.Environ()))
		if err != nil {
			t.Fatal(err)
		}
		if env := strings.Join(s.env, " "); strings.Contains(env, "hidden") || !strings.Contains(env, "example.com") {
			t.Errorf("install/attack strange %s: %s", tool, env)
		}
		if !s.hosts[0].private {
			t.Errorf("install/registry: %s does not reach the registry of the user", tool)
		}
		if s, err = read[tool](append(toolEnv(os.Environ()), entry)); err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(s.hosts, func(h host) bool { return h.private }) {
			t.Errorf("install/attack strange %s: %+v", tool, s.hosts)
		}
	}
}

// TestPasswordsOfTheUser checks that a server gets no password of registries and
// proxies, unless its entry has it.
func TestPasswordsOfTheUser(t *testing.T) {
	const address = "https://me:hidden@a.example.com/simple https://hidden@b.example.com/@x"
	for _, name := range []string{"UV_INDEX", "PIP_INDEX_URL", "npm_config_registry", "https_proxy"} {
		t.Setenv(name, address)
	}
	env := []string{"UV_INDEX=" + address, "PIP_INDEX_URL=" + address, "npm_config_registry=" + address, "https_proxy=" + address, "DATABASE_URL=" + address}
	t.Setenv("NPM_CONFIG__AUTH", "hidden")
	env = append(env, "NPM_CONFIG__AUTH=hidden", "npm_config_//h/:_auth=own")
	p, _, err := Command(Server{ID: "s", State: t.TempDir()}, Program{Path: "/bin/true", Env: env})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(p.Env, "NPM_CONFIG__AUTH=hidden") || !slices.Contains(p.Env, "npm_config_//h/:_auth=own") {
		t.Errorf("install/attack password: %q", p.Env)
	}
	for _, name := range []string{"UV_INDEX", "PIP_INDEX_URL", "npm_config_registry", "https_proxy"} {
		if got := getEnv(p.Env, name); got != "https://a.example.com/simple https://b.example.com/@x" {
			t.Errorf("install/attack password: %s=%s", name, got)
		}
	}
	if got := getEnv(p.Env, "DATABASE_URL"); got != address {
		t.Errorf("install/environment: %s", got)
	}
	t.Setenv("UV_INDEX", "another")
	if p, _, err = Command(Server{ID: "s", State: t.TempDir()}, Program{Path: "/bin/true", Env: env}); err != nil || getEnv(p.Env, "UV_INDEX") != address {
		t.Errorf("install/environment: the entry's own is %q, %v", getEnv(p.Env, "UV_INDEX"), err)
	}
}

// TestPrefixOfAnotherRegistry checks that a package from a registry, or by a package
// manager, that one entry names does not run as a server of another entry.
func TestPrefixOfAnotherRegistry(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"npm", "uv", "own/npm", "own/uv"} {
		must.Program(t, filepath.Join(dir, name), "")
	}
	t.Setenv("PATH", dir)
	t.Setenv("UV_INDEX", "https://mine.example.com")
	for _, runner := range []string{"npx", "uvx"} {
		f := &Package{runner: runner, dir: dir, Name: "x", Version: "1"}
		plain := f.hash(os.Environ())
		if again := f.hash(append([]string{"SECRET=1"}, os.Environ()...)); again != plain {
			t.Errorf("install/prefix: %s has another folder because of a variable that it does not get", runner)
		}
		for _, entry := range []string{"npm_config_registry=https://evil.example", "UV_INDEX=https://evil.example", "UV_DEFAULT_INDEX=https://evil.example", "PATH=" + filepath.Join(dir, "own") + ":" + dir} {
			if f.hash(setEnv(os.Environ(), map[string]string{strings.Split(entry, "=")[0]: strings.SplitN(entry, "=", 2)[1]})) == plain {
				t.Errorf("install/attack prefix: %s shares its folder with %s", runner, entry)
			}
		}
		f.dir = filepath.Join(dir, "own")
		if f.hash(os.Environ()) == plain {
			t.Errorf("install/attack prefix: %s shares its folder with a package manager of its own", runner)
		}
	}
}

// TestKeysOfTheSystem checks that what every program may read has no keys.
func TestKeysOfTheSystem(t *testing.T) {
	for _, key := range append([]string{"/etc/ssl/private", "/etc/pki/tls/private", "/etc/pki/nssdb", "/etc/pki/rpm-gpg", "/etc/ssh"}, secretsOfSystem...) {
		if slices.ContainsFunc(systemRead(), func(dir string) bool { return within(strings.TrimSuffix(key, "*"), dir) }) {
			t.Errorf("install/attack keys: %s can be read", key)
		}
	}
}

// TestVersionFileOfTheServer checks that a start does not wait for a pipe that the
// server has made in place of a version file.
func TestVersionFileOfTheServer(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), ".python-version")
	must.OK(t, unix.Mkfifo(pipe, 0o600))
	if got := versionFile(pipe); !slices.Equal(got, []string{""}) {
		t.Errorf("install/attack version: %q", got)
	}
}
