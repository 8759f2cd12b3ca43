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
	if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "npm")
	if err := os.WriteFile(other, []byte("#!/bin/sh\necho '{\"registry\": \"https://anywhere.example.com\", \"cafile\": \"/etc/shadow\"}'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
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
	t.Setenv("XDG_CONFIG_HOME", dir)
	file := filepath.Join(dir, "uv", "uv.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
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
			if err := os.WriteFile(file, []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := uvSource(t.TempDir(), tt.env)
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
		if err := os.WriteFile(file, []byte("index-url = 1"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := uvSource(t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("error: %v", err)
		}
	})
}
