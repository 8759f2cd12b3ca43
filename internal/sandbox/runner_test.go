package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestRunners(t *testing.T) {
	for _, tt := range []struct {
		command string
		want    *Package
		refused string
	}{
		{"npx -y pkg", &Package{"npx", ".", "pkg", "", []string{}}, ""},
		{"/usr/bin/npx pkg@1.2.3 --flag x", &Package{"npx", "/usr/bin", "pkg", "1.2.3", []string{"--flag", "x"}}, ""},
		{"npx --yes @scope/pkg@latest", &Package{"npx", ".", "@scope/pkg", "latest", []string{}}, ""},
		{"uvx mcp-server-time==2026.1 --tz UTC", &Package{"uvx", ".", "mcp-server-time", "2026.1", []string{"--tz", "UTC"}}, ""},
		{"uvx mcp-server-time", &Package{"uvx", ".", "mcp-server-time", "", []string{}}, ""},
		{"node server.js", nil, ""},
		{"npx", nil, "npx -y PACKAGE"},
		{"npx -p pkg cmd", nil, "npx -y PACKAGE"},
		{"npx -y ./local", nil, "npx -y PACKAGE"},
		{"npx -y git+https://x/y", nil, "npx -y PACKAGE"},
		{"npx -y https://x/y.tgz", nil, "npx -y PACKAGE"},
		{"npx -y pkg@^1.0.0", nil, "npx -y PACKAGE"},
		{"uvx --from pkg cmd", nil, "uvx PACKAGE"},
		{"uvx pkg@1.0", nil, "uvx PACKAGE"},
		{"uvx ../x", nil, "uvx PACKAGE"},
		{"uv run x", nil, "uvx PACKAGE"},
		{"pipx run x", nil, "uvx PACKAGE"},
		{"docker run -i x", nil, "the container is the sandbox"},
	} {
		t.Run("install/runner "+tt.command, func(t *testing.T) {
			words := strings.Fields(tt.command)
			got, err := readRunner(words[0], words[1:])
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("error: %v", err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(Package{})); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func TestBinOfPackage(t *testing.T) {
	for _, tt := range []struct{ name, manifest, want string }{
		{"@s/pkg", `{"bin": "a.js"}`, "a.js"},
		{"@s/pkg", `{"bin": {"other": "o.js", "pkg": "p.js"}}`, "p.js"},
		{"pkg", `{"bin": {"other": "o.js"}}`, "o.js"},
		{"pkg", `{"bin": {"a": "o.js", "b": "o.js"}}`, "o.js"},
		{"pkg", `{"bin": {"a": "a.js", "b": "b.js"}}`, ""},
		{"pkg", `{}`, ""},
	} {
		t.Run("install/runner "+tt.manifest, func(t *testing.T) {
			got, err := (&Package{runner: "npx", Name: tt.name}).bin([]byte(tt.manifest))
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestLinksInWritableFolders checks that a server cannot extend its next profile
// with a link.
func TestLinksInWritableFolders(t *testing.T) {
	own := t.TempDir()
	must.OK(t, os.Symlink("/", filepath.Join(own, "link")))
	alias := filepath.Join(t.TempDir(), "alias")
	must.OK(t, os.Symlink(own, alias))
	for _, path := range []string{filepath.Join(own, "link"), filepath.Join(alias, "link")} {
		s := Server{ID: "s", State: t.TempDir(), Rules: config.Sandbox{Read: []string{path}, Write: []string{own, path}}, Cwd: path}
		_, profile, err := Command(s, Program{Path: "/bin/true"})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(profile.Read, "/proc/self") {
			t.Error("install/attack link: the program cannot read about itself, or can about another")
		}
		if slices.Contains(profile.Read, "/") || slices.Contains(profile.Write, "/") || !slices.Contains(profile.Write, own) {
			t.Errorf("install/attack link: %+v", profile)
		}
	}
}

// TestFilesOfPrograms checks that the folder of an installation is readable, but
// that a home directory does not become readable because a program is in it.
func TestFilesOfPrograms(t *testing.T) {
	for _, tt := range []struct{ path, home, want string }{
		{"/home/me/bin/server", "/home/me", "/home/me/bin/server"},
		{"/home/me/.local/bin/server", "/home/me", "/home/me/.local/bin/server"},
		{"/opt/tool/bin/server", "/home/me", "/opt/tool/bin/server"},
		{"/home/bin/server", "/home/me", "/home/bin/server"},
	} {
		t.Run("install/files "+tt.path, func(t *testing.T) {
			if got := installation(tt.path, tt.home); len(got) != 1 || got[0] != tt.want {
				t.Errorf("%q", got)
			}
		})
	}
}
