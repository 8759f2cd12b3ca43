package upgrade

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// A Way is how a copy was installed.
type Way struct {
	Name string
	// How is the command or instruction for upgrading; empty for a copy that no
	// package manager manages, which can replace itself.
	How i18n.Text
}

// WayOf finds out how a program was installed, from its path and the files
// around it.
func WayOf(program string) Way {
	path := filepath.ToSlash(program)
	for _, w := range byPath {
		if strings.Contains(path, w.part) {
			return Way{w.name, i18n.Plain(w.run)}
		}
	}
	for _, find := range []func(string) (Way, bool){wheel, systemPackage, container, goInstall} {
		if w, ok := find(program); ok {
			return w
		}
	}
	if key == "" {
		return Way{"source", i18n.Plain("git pull && make install")}
	}
	return Way{Name: "archive"}
}

// byPath lists the ways that are recognized by the path of the program.
var byPath = []struct{ part, name, run string }{
	{"/_npx/", "npx", "npx mcp-all-in-one@latest"},
	{"/node_modules/", "npm", "npm install -g mcp-all-in-one@latest"},
	{"/uv/tools/", "uv", "uv tool upgrade mcp-all-in-one"},
	{"/uv/archive-", "uvx", "uvx mcp-all-in-one@latest"},
	{"/pipx/venvs/", "pipx", "pipx upgrade mcp-all-in-one"},
	{"/Cellar/", "Homebrew", "brew upgrade mcp-all-in-one"},
	{"/scoop/apps/", "Scoop", "scoop update mcp-all-in-one"},
	{"/WinGet/Packages/", "winget", "winget upgrade McpAllInOne.McpAllInOne"},
	{"/extensions/", "VS Code", "code --install-extension mcp-tester-PLATFORM.vsix"},
}

// wheel recognizes a Python package: its files are beside the folder of
// programs.
func wheel(program string) (Way, bool) {
	root := filepath.Dir(filepath.Dir(program))
	for _, lib := range []string{"lib/python*/site-packages", "Lib/site-packages"} {
		if found, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(lib), "mcp_all_in_one-*.dist-info")); len(found) > 0 {
			return Way{"pip", i18n.Plain("pip install --upgrade mcp-all-in-one")}, true
		}
	}
	return Way{}, false
}

// systemPackages lists the Linux packages and the files in which their managers
// record them.
var systemPackages = []struct{ name, note, text, run string }{
	{"deb", "/var/lib/dpkg/info/mcp-all-in-one.list", "", "sudo apt install ./mcp-all-in-one-VERSION-PLATFORM.deb"},
	{"apk", "/lib/apk/db/installed", "\nP:mcp-all-in-one\n", "sudo apk add --allow-untrusted ./mcp-all-in-one-VERSION-PLATFORM.apk"},
	{"pacman", "/var/lib/pacman/local/mcp-all-in-one-*/desc", "", "git pull && makepkg -si"},
	{"rpm", "/usr/lib/systemd/user/mcp-all-in-one.service", "", "sudo rpm -U ./mcp-all-in-one-VERSION-PLATFORM.rpm"},
}

// systemPackage recognizes a Linux package. rpm keeps a database, so it is
// recognized by a file that only its package installs.
func systemPackage(program string) (Way, bool) {
	if filepath.ToSlash(program) != "/usr/bin/"+name {
		return Way{}, false
	}
	for _, p := range systemPackages {
		found, _ := filepath.Glob(p.note)
		for _, note := range found {
			if text, err := os.ReadFile(note); err == nil && strings.Contains("\n"+string(text), p.text) {
				return Way{p.name, i18n.Plain(p.run)}, true
			}
		}
	}
	return Way{}, false
}

// container recognizes our image by the path of the program in it.
func container(program string) (Way, bool) {
	for _, note := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(note); err == nil && program == "/usr/bin/"+name {
			return Way{"container", i18n.New("start the container again from the image of the new version", "使用新版本的镜像重新启动容器")}, true
		}
	}
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return Way{"container", i18n.New("start the container again from the image of the new version", "使用新版本的镜像重新启动容器")}, true
	}
	return Way{}, false
}

// goInstall recognizes a copy made by go install: it records the version of the
// module.
func goInstall(string) (Way, bool) {
	info, ok := debug.ReadBuildInfo()
	built := func(s debug.BuildSetting) bool { return s.Key == "vcs.revision" } // set in a clone
	if !ok || key != "" || info.Main.Version == "" || info.Main.Version == "(devel)" || slices.ContainsFunc(info.Settings, built) {
		return Way{}, false
	}
	return Way{"go", i18n.Plain("go install " + info.Main.Path + "@latest")}, true
}
