package stdio

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/mcptest/must"
)

func TestEnviron(t *testing.T) {
	parent := []string{
		"PATH=/bin", "HOME=/h", "LC_TIME=de", "LCX=1", "XDG_RUNTIME_DIR=/run", "XDG_SECRET=s", "no_proxy=x", "HTTPS_PROXY=y",
		"NPM_CONFIG_REGISTRY=r", "npm_config_//r/:_authToken=t", "npm_config_cache=c", "UV_INDEX=i", "PIP_INDEX_URL=p",
		"AWS_ACCESS_KEY_ID=k", "DOCKER_AUTH_CONFIG=a", "DOCKER_HOST=h", "REGISTRY_AUTH_FILE=f", "GITHUB_TOKEN=g", "DB_PASSWORD=d", "APP=1", "TERM=old", "TERM=new", "broken", "SSL_CERT_FILE=f",
	}
	packages := []string{
		"NPM_CONFIG__AUTH=a", "npm_config_//h/:_auth=a", "npm_config_registry=https://me:p@h/", "NPM_CONFIG_CACHE=/c", "UV_INDEX_URL=https://h/simple", "UV_INDEX=a=https://h/a b=https://t@h/b",
		"PIP_INDEX_URL=https://me:p@h/simple", "UV_INDEX_A_PASSWORD=p", "HTTPS_PROXY=http://me:p@proxy", "REGISTRY_AUTH_FILE=/f",
	}
	for _, tt := range []struct {
		name, command string
		parent        []string
		inherit       Inherit
		own           map[string]string
		windows       bool
		env, withheld []string
	}{
		{
			name: "default", parent: parent, own: map[string]string{"HOME": "/own", "API_KEY": "a=b"},
			env: []string{"API_KEY=a=b", "DOCKER_HOST=h", "HOME=/own", "HTTPS_PROXY=y", "LC_TIME=de", "NPM_CONFIG_REGISTRY=r", "PATH=/bin",
				"PIP_INDEX_URL=p", "REGISTRY_AUTH_FILE=f", "SSL_CERT_FILE=f", "TERM=new", "UV_INDEX=i", "XDG_RUNTIME_DIR=/run", "no_proxy=x", "npm_config_cache=c"},
			withheld: []string{"APP", "AWS_ACCESS_KEY_ID", "DB_PASSWORD", "DOCKER_AUTH_CONFIG", "GITHUB_TOKEN", "LCX", "XDG_SECRET", "npm_config_//r/:_authToken"},
		},
		{
			name: "named", parent: []string{"GITHUB_TOKEN=g", "APP=1", "OTHER=2"}, inherit: Inherit{Names: []string{"GITHUB_TOKEN", "APP", "NONE"}},
			env: []string{"APP=1", "GITHUB_TOKEN=g"}, withheld: []string{"OTHER"},
		},
		{
			name: "all", parent: []string{"GITHUB_TOKEN=g", "APP=1"}, inherit: Inherit{All: true}, own: map[string]string{"APP": "2"},
			env: []string{"APP=2", "GITHUB_TOKEN=g"},
		},
		{
			name: "windows", windows: true, own: map[string]string{"Path": `C:\own`}, inherit: Inherit{Names: []string{"app"}},
			parent: []string{`=C:=C:\dir`, `PATH=C:\bin`, `SystemRoot=C:\Windows`, `ProgramFiles(x86)=p`, "APP=1", "Secret=s", "http_proxy=h"},
			env:    []string{"=C:=C:\\dir", "APP=1", `Path=C:\own`, "ProgramFiles(x86)=p", `SystemRoot=C:\Windows`, "http_proxy=h"}, withheld: []string{"Secret"},
		},
		{
			name: "package manager", command: "/usr/bin/npx", parent: packages,
			env:      slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(packages), func(entry string) bool { return strings.Contains(entry, "PASSWORD") }))),
			withheld: []string{"UV_INDEX_A_PASSWORD"},
		},
		{
			name: "no package manager", command: "node", parent: packages,
			env:      []string{"HTTPS_PROXY=http://me:p@proxy", "NPM_CONFIG_CACHE=/c", "REGISTRY_AUTH_FILE=/f", "UV_INDEX_URL=https://h/simple"},
			withheld: []string{"NPM_CONFIG__AUTH", "PIP_INDEX_URL", "UV_INDEX", "UV_INDEX_A_PASSWORD", "npm_config_//h/:_auth", "npm_config_registry"},
		},
		{
			name: "named credentials", command: "node", parent: []string{"NPM_CONFIG__AUTH=a"}, inherit: Inherit{Names: []string{"NPM_CONFIG__AUTH"}},
			env: []string{"NPM_CONFIG__AUTH=a"},
		},
		{name: "windows names elsewhere", parent: []string{"SYSTEMROOT=x", "path=y"}, withheld: []string{"SYSTEMROOT", "path"}},
	} {
		t.Run("fault/T32 "+tt.name, func(t *testing.T) {
			env, withheld := environ(tt.parent, tt.command, tt.inherit, tt.own, tt.windows)
			if diff := cmp.Diff(tt.env, env); diff != "" {
				t.Errorf("env: %s", diff)
			}
			if diff := cmp.Diff(tt.withheld, withheld); diff != "" {
				t.Errorf("withheld: %s", diff)
			}
		})
	}
}

func TestWindowsCommandLine(t *testing.T) {
	for command, want := range map[string]bool{
		"npx": true, "npm": true, "node": true, "python3": true, "npx.cmd": true,
		`C:\bin\npx`: false, `.\npx`: false, "../npx": false, `bin\npx`: false, "node.EXE": false, "cmd": false, "pwsh": false,
	} {
		if got := needsShell(command); got != want {
			t.Errorf("needsShell(%q) = %v", command, got)
		}
	}
	for _, tt := range []struct {
		argv []string
		want string
	}{
		{[]string{"npx", "-y", "pkg@1"}, `cmd.exe /d /s /c "npx ^"-y^" ^"pkg@1^""`},
		{[]string{"npx", "a b", `& calc`}, `cmd.exe /d /s /c "npx ^"a b^" ^"^& calc^""`},
		{[]string{"npx", `%PATH%`, `q"q`, `end\`}, `cmd.exe /d /s /c "npx ^"^%PATH^%^" ^"q\^"q^" ^"end\\^""`},
		{[]string{"a&b"}, `cmd.exe /d /s /c "a^&b"`},
	} {
		if got := shellLine(tt.argv); got != tt.want {
			t.Errorf("%q\n got %s\nwant %s", tt.argv, got, tt.want)
		}
	}
}

func TestExitStatus(t *testing.T) {
	for want, status := range map[string]ExitStatus{
		"exit status 1":     {Code: 1},
		"killed by SIGKILL": {Code: -1, Signal: "SIGKILL"},
		"gone":              {Code: -1, Err: errString("gone")},
	} {
		if got := status.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

type errString string

func (e errString) Error() string { return string(e) }

// TestInheritedIsDocumented checks that the reference page names every variable
// that children get, and every command that gets credentials of registries.
func TestInheritedIsDocumented(t *testing.T) {
	page := must.Read(t, "../../docs/config.md")
	_, part, _ := strings.Cut(page, "\n## What a server inherits\n")
	part, _, _ = strings.Cut(part, "\n## ")
	for _, name := range slices.Concat(inherited, secretWords, runners) {
		if !strings.Contains(part, "`"+name+"`") {
			t.Errorf("docs/config.md does not name %s", name)
		}
	}
}
