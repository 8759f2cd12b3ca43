package sandbox

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// A pyenv shim is a script that asks pyenv which version to run. pyenv reads more
// of the home than a confined server may. So this package selects the version
// itself, by pyenv's rules.

// unshim replaces a shim by the program that it stands for, and the shims in PATH
// as well. cwd is the folder in the entry; "" if none.
func unshim(p Program, cwd string) (Program, error) {
	dirs := filepath.SplitList(getEnv(p.Env, "PATH"))
	var path []string
	for _, dir := range dirs {
		if root := shimRoot(dir); root != "" {
			for _, version := range pyenvVersions(root, p.Env, cwd) {
				path = append(path, filepath.Join(version, "bin"))
			}
			continue
		}
		path = append(path, dir)
	}
	if !slices.Equal(path, dirs) {
		p.Env = setEnv(p.Env, map[string]string{"PATH": strings.Join(path, string(os.PathListSeparator))})
	}
	root, name := shimRoot(filepath.Dir(p.Path)), filepath.Base(p.Path)
	if root == "" {
		return p, nil
	}
	shim := p.Path
	for _, version := range pyenvVersions(root, p.Env, cwd) {
		if p.Path = lookPath(name, []string{"PATH=" + filepath.Join(version, "bin")}); p.Path != "" {
			return p, nil
		}
	}
	if p.Path = lookPath(name, p.Env); p.Path != "" { // the version is "system"
		return p, nil
	}
	return p, i18n.Errorf(`%s is a shim of pyenv, and the version that pyenv has chosen has no %s: choose another one ("pyenv global VERSION"), or write the path that "pyenv which %[2]s" prints as the command`,
		`%s 是 pyenv 的 shim，而 pyenv 所选的版本中没有 %s：请选择其他版本（"pyenv global VERSION"），或将 "pyenv which %[2]s" 显示的路径写为 command`, shim, name)
}

// shimRoot returns the pyenv installation whose shims are in dir; "" if there is
// none.
func shimRoot(dir string) string {
	root := filepath.Dir(dir)
	info, err := os.Stat(filepath.Join(root, "versions"))
	if filepath.Base(dir) != "shims" || err != nil || !info.IsDir() {
		return ""
	}
	return root
}

// pyenvVersions returns the folders of the versions that pyenv would use, in its
// order: those of PYENV_VERSION, else of .python-version in cwd or a parent folder,
// else of pyenv's file version.
func pyenvVersions(root string, env []string, cwd string) []string {
	names := strings.Split(getEnv(env, "PYENV_VERSION"), ":")
	for dir := cwd; names[0] == "" && dir != ""; dir = filepath.Dir(dir) {
		names = versionFile(filepath.Join(dir, ".python-version"))
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if names[0] == "" {
		names = versionFile(filepath.Join(root, "version"))
	}
	var found []string
	for _, name := range names {
		if dir := pyenvVersion(root, strings.TrimPrefix(name, "python-")); dir != "" {
			found = append(found, dir)
		}
	}
	return found
}

// versionFile returns the names in a file, without comments; one empty name if
// there are none.
func versionFile(path string) []string {
	data, err := readSmall(path)
	var names []string
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		names = append(names, strings.Fields(line)...)
	}
	if err != nil || len(names) == 0 {
		return []string{""}
	}
	return names
}

// readSmall reads the beginning of a regular file. The server may have put something
// else in its place, such as a pipe, which would never end.
func readSmall(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.ErrUnsupported
	}
	return io.ReadAll(io.LimitReader(f, 4096))
}

// versionName matches a valid version name. The server may have written the file
// that contains it.
var versionName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)

// pyenvVersion returns the folder of a version. For 3.11 that is the folder of the
// newest 3.11.x.
func pyenvVersion(root, name string) string {
	if !versionName().MatchString(name) || name == "system" {
		return ""
	}
	dir := filepath.Join(root, "versions", name)
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	found, _ := filepath.Glob(dir + ".*") // the name has no pattern characters
	if len(found) == 0 {
		return ""
	}
	return slices.MaxFunc(found, func(a, b string) int {
		last := func(path string) int {
			n, _ := strconv.Atoi(strings.TrimPrefix(path, dir+"."))
			return n
		}
		return cmp.Compare(last(a), last(b))
	})
}
