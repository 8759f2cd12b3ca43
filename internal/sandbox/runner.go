package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// A Package is a package that npx or uvx would download and run.
type Package struct {
	runner  string // npx or uvx
	dir     string // folder of the runner
	Name    string // in its registry
	Version string // "" means the newest at installation
	args    []string
}

// Confinable returns why a command cannot be confined, judged by its words; nil if it
// can.
func Confinable(command string, args []string) error {
	_, err := readRunner(command, args)
	return err
}

// ReadPackage parses a command that runs a package by its name. It returns nil for
// other commands, and for forms in which the package cannot be determined.
func ReadPackage(command string, args []string) *Package {
	p, err := readRunner(command, args)
	if err != nil {
		return nil
	}
	return p
}

// NPM reports whether the package is from npm; otherwise it is from PyPI.
func (f *Package) NPM() bool { return f.runner == "npx" }

// At returns the arguments of its command with another version of the package.
func (f *Package) At(version string, args []string) []string {
	other, changed := *f, slices.Clone(args)
	other.Version = version
	if i := slices.Index(args, f.spec()); i >= 0 {
		changed[i] = other.spec()
	}
	return changed
}

// otherRunners also download programs, but their downloads cannot be separated from
// running the program.
var otherRunners = []string{"npm", "pnpm", "pnpx", "yarn", "bunx", "uv", "pipx"}

// engines start containers, which do not become their child processes.
var engines = []string{"docker", "podman", "nerdctl"}

// IsEngine reports whether a command is a container engine.
func IsEngine(command string) bool { return slices.Contains(engines, filepath.Base(command)) }

var (
	npmPackage  = lazy.Regexp(`^((?:@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*)(?:@([0-9A-Za-z][0-9A-Za-z.+-]*))?$`)
	pypiPackage = lazy.Regexp(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:==([0-9A-Za-z][0-9A-Za-z.+!-]*))?$`)
)

// readRunner parses a command that downloads its program. It returns nil for other
// commands.
func readRunner(path string, args []string) (*Package, error) {
	name := filepath.Base(path)
	switch {
	case IsEngine(path):
		return nil, i18n.Errorf(`%s cannot be confined: the container is the sandbox; "sandbox": "off" runs it`,
			`%s 无法隔离：容器本身就是沙箱；"sandbox": "off" 可运行它`, name)
	case name == "dnx":
		// .NET reads /proc/self, and a rule for it holds for one process: not for the one that dnx starts.
		return nil, i18n.Errorf(`dnx cannot be confined, because .NET does not run in the process that it starts; "sandbox": "off" runs it`,
			`dnx 无法隔离，因为 .NET 无法在它启动的进程中运行；"sandbox": "off" 可运行它`)
	case name != "npx" && name != "uvx" && !slices.Contains(otherRunners, name):
		return nil, nil
	}
	f := &Package{runner: name, dir: filepath.Dir(path)}
	form := pypiPackage
	if name == "npx" {
		form = npmPackage
		if len(args) > 0 && (args[0] == "-y" || args[0] == "--yes") {
			args = args[1:]
		}
	}
	if len(args) > 0 && !slices.Contains(otherRunners, name) {
		if m := form().FindStringSubmatch(args[0]); m != nil {
			f.Name, f.Version, f.args = m[1], m[2], args[1:]
			return f, nil
		}
	}
	return nil, i18n.Errorf(`a sandbox runs what %s downloads only as "npx -y PACKAGE[@VERSION] ARGUMENTS" or "uvx PACKAGE[==VERSION] ARGUMENTS"`,
		`沙箱只支持以 "npx -y 包[@版本] 参数" 或 "uvx 包[==版本] 参数" 的形式运行 %s 下载的内容`, name)
}

// spec returns the package as an argument of its package manager.
func (f *Package) spec() string {
	switch {
	case f.Version == "":
		return f.Name
	case f.runner == "npx":
		return f.Name + "@" + f.Version
	}
	return f.Name + "==" + f.Version
}

// script returns the name of the package's command.
func (f *Package) script() string {
	_, after, scoped := strings.Cut(f.Name, "/")
	if scoped {
		return after
	}
	return f.Name
}
