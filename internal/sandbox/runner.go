package sandbox

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// A fetched is a package that a runner would download and run: npx or uvx.
type fetched struct {
	runner  string // npx or uvx
	dir     string // where the runner is
	name    string
	version string // "" is the newest when it is installed
	args    []string
}

// otherRunners download what they run in ways that cannot be told apart from
// running it.
var otherRunners = []string{"npm", "pnpm", "pnpx", "yarn", "bunx", "uv", "pipx"}

// engines start containers, which are not children of theirs.
var engines = []string{"docker", "podman", "nerdctl"}

var (
	npmPackage  = regexp.MustCompile(`^((?:@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*)(?:@([0-9A-Za-z][0-9A-Za-z.+-]*))?$`)
	pypiPackage = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:==([0-9A-Za-z][0-9A-Za-z.+!-]*))?$`)
)

// readRunner takes a command apart that downloads what it runs. nil is one
// that does not.
func readRunner(path string, args []string) (*fetched, error) {
	name := filepath.Base(path)
	switch {
	case slices.Contains(engines, name):
		return nil, i18n.Errorf(`%s cannot be confined: the container is the sandbox; "sandbox": "off" runs it`,
			`%s 无法隔离：容器本身就是沙箱；"sandbox": "off" 可运行它`, name)
	case name != "npx" && name != "uvx" && !slices.Contains(otherRunners, name):
		return nil, nil
	}
	f := &fetched{runner: name, dir: filepath.Dir(path)}
	form := pypiPackage
	if name == "npx" {
		form = npmPackage
		if len(args) > 0 && (args[0] == "-y" || args[0] == "--yes") {
			args = args[1:]
		}
	}
	if len(args) > 0 && !slices.Contains(otherRunners, name) {
		if m := form.FindStringSubmatch(args[0]); m != nil {
			f.name, f.version, f.args = m[1], m[2], args[1:]
			return f, nil
		}
	}
	return nil, i18n.Errorf(`a sandbox runs what %s downloads only as "npx -y PACKAGE[@VERSION] ARGUMENTS" or "uvx PACKAGE[==VERSION] ARGUMENTS"`,
		`沙箱只支持以 "npx -y 包[@版本] 参数" 或 "uvx 包[==版本] 参数" 的形式运行 %s 下载的内容`, name)
}

// spec is the package as its tool takes it.
func (f *fetched) spec() string {
	switch {
	case f.version == "":
		return f.name
	case f.runner == "npx":
		return f.name + "@" + f.version
	}
	return f.name + "==" + f.version
}

// script is the name of the command that a package is asked for.
func (f *fetched) script() string {
	_, after, scoped := strings.Cut(f.name, "/")
	if scoped {
		return after
	}
	return f.name
}
