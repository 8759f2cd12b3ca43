package lock

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
	"mcp-all-in-one/internal/sandbox"
)

// Stage lets npm or uv resolve the package of a server, into a separate lock in
// the folder dir. The staged lock has no effect until Take. If version is not
// empty, it replaces the version in the entry. The staged lock does not contain
// the server's definitions yet.
func Stage(ctx context.Context, s *config.Server, version, dir string) (*File, error) {
	e := &Entry{Entry: EntryHash(s)}
	f := &File{path: filepath.Join(dir, "mcp.lock"), Servers: map[string]*Entry{Key(s): e}}
	pkg := sandbox.ReadPackage(s.Command, s.Args)
	var err error
	switch {
	case s.URL != "" || s.Type == config.TypeScripts:
		e.Level, e.URL = LevelTools, s.URL
		return f, nil
	case imageOf(s) != "":
		e.Level, e.Image = LevelImage, imageOf(s)
		return f, nil
	case runsBundle(s):
		e.Level, e.Bundle = LevelBundle, s.Origin.SHA256
		e.Tree, err = bundleHash(s)
		return f, err
	case pkg == nil:
		e.Level = LevelFile
		e.Program, err = programHash(s.Command)
		return f, err
	}
	work := f.Dir(Key(s))
	if err := os.MkdirAll(work, 0o700); err != nil {
		return nil, err
	}
	e.Level = LevelTree
	if version = cmp.Or(version, pkg.Version, Newest); pkg.NPM() {
		err = resolveNPM(ctx, e, pkg.Name, version, s, work)
	} else {
		err = resolvePyPI(ctx, e, pkg.Name, version, s, work)
	}
	return f, err
}

var imageByDigest = lazy.Regexp(`^[a-z0-9][a-z0-9./:_-]*@sha256:[a-f0-9]{64}$`)

// imageOf returns the image that a server runs, "" if it runs none or one by a tag,
// which can be moved. An engine compares what it downloads with the digest.
func imageOf(s *config.Server) string {
	if !sandbox.IsEngine(s.Command) || len(s.Args) == 0 || s.Args[0] != "run" {
		return ""
	}
	if i := slices.IndexFunc(s.Args, imageByDigest().MatchString); i > 0 {
		return s.Args[i]
	}
	return ""
}

// lockFiles are the files of npm and uv that are kept.
var lockFiles = []string{"package.json", "package-lock.json", "pyproject.toml", "uv.lock"}

// treeHash returns the hash of the lock files in a folder. It covers every byte: npm
// and uv may read them otherwise than this program does.
func treeHash(dir string) (string, error) {
	h, found := sha256.New(), false
	for _, name := range lockFiles {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", i18n.Errorf("reading %s: %w", "读取 %s 失败：%w", filepath.Join(dir, name), err)
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(data), data)
		found = true
	}
	if !found {
		return "", i18n.Errorf("there are no lock files in %s; they belong to mcp.lock", "%s 中没有锁文件；它们属于 mcp.lock", dir)
	}
	return "sha256-" + hex.EncodeToString(h.Sum(nil)), nil
}

// keep copies the lock files of npm or uv next to the lock.
func (f *File) keep(key, work string) error {
	dir := f.Dir(key)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range lockFiles {
		data, err := os.ReadFile(filepath.Join(work, name))
		if err != nil {
			_ = os.Remove(filepath.Join(dir, name)) // left over from another tool
			continue
		}
		if err := disk.Replace(disk.OS{}, filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func resolveNPM(ctx context.Context, e *Entry, name, version string, s *config.Server, work string) error {
	manifest, err := json.Marshal(map[string]any{"private": true, "dependencies": map[string]string{name: version}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, "package.json"), manifest, 0o600); err != nil {
		return err
	}
	if _, err := tool(ctx, s, work, "npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"); err != nil {
		return err
	}
	t, err := readTree(filepath.Join(work, "package-lock.json"))
	if err != nil {
		return err
	}
	top, ok := t.packages["node_modules/"+name]
	if !ok {
		return i18n.Errorf("npm did not resolve %s", "npm 没有解析出 %s", name)
	}
	e.NPM, e.Integrity, e.Packages, e.Scripts = name+"@"+top.Version, top.Integrity, len(t.packages), t.scripts()
	e.Runtime = runtimeOf(ctx, s, "node")
	e.Tree, err = treeHash(work)
	return err
}

// A tree has the packages that a package-lock.json pins.
type tree struct{ packages map[string]npmPackage }

type npmPackage struct {
	Version   string `json:"version"`
	Resolved  string `json:"resolved"`
	Integrity string `json:"integrity"`
	Script    bool   `json:"hasInstallScript"`
	InBundle  bool   `json:"inBundle"`
	Link      bool   `json:"link"`
}

// readTree reads a package-lock.json. It fails if a package has no integrity
// hash.
func readTree(path string) (*tree, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, i18n.Errorf("reading %s: %w", "读取 %s 失败：%w", path, err)
	}
	var file struct {
		Packages map[string]npmPackage `json:"packages"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, i18n.Errorf("reading %s: %w", "读取 %s 失败：%w", path, err)
	}
	delete(file.Packages, "")
	for name, p := range file.Packages {
		if p.Link || p.Integrity == "" && !p.InBundle { // what is in a bundle is in the tarball around it
			return nil, i18n.Errorf("%s has no integrity, so it cannot be locked: refused", "%s 没有 integrity，无法锁定：已拒绝", name)
		}
	}
	return &tree{file.Packages}, nil
}

// scripts returns the packages that have install scripts.
func (t *tree) scripts() []string {
	var list []string
	for name, p := range t.packages {
		if p.Script {
			list = append(list, strings.TrimPrefix(name, "node_modules/")+"@"+p.Version)
		}
	}
	slices.Sort(list)
	return list
}

func resolvePyPI(ctx context.Context, e *Entry, name, version string, s *config.Server, work string) error {
	e.Runtime = runtimeOf(ctx, s, "python3")
	spec := name
	if version != Newest {
		spec += "==" + version
	}
	least := strings.TrimPrefix(e.Runtime, "python ")
	project := fmt.Sprintf("[project]\nname = \"locked\"\nversion = \"0\"\nrequires-python = \">=%s\"\ndependencies = [%q]\n", least, spec)
	if err := os.WriteFile(filepath.Join(work, "pyproject.toml"), []byte(project), 0o600); err != nil {
		return err
	}
	if _, err := tool(ctx, s, work, "uv", "lock", "--quiet"); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(work, "uv.lock"))
	if err != nil {
		return err
	}
	if e.Tree, err = treeHash(work); err != nil {
		return err
	}
	e.Packages = strings.Count(string(data), "[[package]]") - 1
	found := regexp.MustCompile(`(?m)^name = "` + regexp.QuoteMeta(normalized(name)) + `"\nversion = "([^"]+)"`).FindSubmatch(data)
	if found == nil {
		return i18n.Errorf("uv did not resolve %s", "uv 没有解析出 %s", name)
	}
	e.PyPI, e.Build = name+"=="+string(found[1]), toBuild(data)
	return nil
}

var (
	lockedName   = lazy.Regexp(`(?m)^name = "([^"]+)"\nversion = "([^"]+)"`)
	lockedWheels = lazy.Regexp(`(?m)^wheels = \[`)
	lockedHash   = lazy.Regexp(`hash = "[^"]+"`)
	lockedSource = lazy.Regexp(`(?m)^sdist = `)
)

// toBuild returns the packages of a uv.lock that are only available as source.
func toBuild(data []byte) []string {
	var list []string
	for _, block := range strings.Split(string(data), "[[package]]")[1:] {
		if m := lockedName().FindStringSubmatch(block); m != nil && lockedSource().MatchString(block) && !lockedWheels().MatchString(block) {
			list = append(list, m[1]+"=="+m[2])
		}
	}
	slices.Sort(list)
	return list
}

// normalized returns a package name in the form in which PyPI compares names.
func normalized(name string) string {
	return strings.ToLower(regexp.MustCompile(`[-_.]+`).ReplaceAllString(name, "-"))
}

// programHash returns the hash of the program that a command names.
func programHash(command string) (string, error) {
	path, err := exec.LookPath(command)
	if err != nil {
		return "", i18n.Errorf("%s is not in PATH", "PATH 中没有 %s", command)
	}
	return contentHash(path)
}

// tool runs npm or uv in a folder, with the registries that the entry sets. Its
// error contains the last output.
func tool(ctx context.Context, s *config.Server, dir, name string, args ...string) ([]byte, error) {
	path := beside(s.Command, name)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = dir, os.Environ()
	for key, value := range s.Env {
		if strings.HasPrefix(strings.ToLower(key), "npm_config_") || strings.HasPrefix(key, "UV_") {
			cmd.Env = append(cmd.Env, key+"="+value.Reveal())
		}
	}
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out, &toolError{name, strings.TrimSpace(string(exit.Stderr))}
	}
	if err == nil {
		return out, nil
	}
	return out, i18n.Errorf("running %s: %w", "运行 %s 失败：%w", name, err)
}

// beside returns the tool from the folder of the command's program, or else the
// plain name.
func beside(command, name string) string {
	if filepath.IsAbs(command) {
		path := filepath.Join(filepath.Dir(command), name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return name
}

var firstNumbers = lazy.Regexp(`(\d+)(\.\d+)?`)

// runtimeOf returns the runtime of a server with the version that matters: node
// 22, python 3.12.
func runtimeOf(ctx context.Context, s *config.Server, program string) string {
	out, err := exec.CommandContext(ctx, beside(s.Command, program), "--version").Output()
	m := firstNumbers().FindSubmatch(out)
	if err != nil || m == nil {
		return ""
	}
	if program == "node" {
		return "node " + string(m[1])
	}
	return "python " + string(m[0])
}
