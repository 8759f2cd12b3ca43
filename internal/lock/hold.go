package lock

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
	"mcp-all-in-one/internal/sandbox"
)

// A toolError has the output of npm or uv when it failed.
type toolError struct{ name, said string }

func (e *toolError) Error() string { return e.In(i18n.English) }

// In returns the message in a language.
func (e *toolError) In(l i18n.Lang) string {
	said := e.said
	if len(said) > 2000 {
		said = said[len(said)-2000:]
	}
	return i18n.New("%s failed: %s", "%s 失败：%s", e.name, said).In(l)
}

// A Program says how a locked server is started.
type Program struct {
	Path string
	Args []string
	Env  []string
	// Prefix is the folder that the program must be able to read, or "".
	Prefix string
}

// Hold returns how to start a server as it is locked, or why it must not be
// started. environ is the environment of the process.
func (f *File) Hold(ctx context.Context, s *config.Server, environ []string) (*Program, error) {
	e := f.Servers[Key(s)]
	if e == nil {
		return nil, i18n.Errorf("%s is not in mcp.lock; mcp-all-in-one lock %s adds it", "%s 不在 mcp.lock 中；mcp-all-in-one lock %s 可加入", s.Name, s.Name)
	}
	if e.Entry != EntryHash(s) {
		return nil, i18n.Errorf("the entry of %s differs from mcp.lock: not started; mcp-all-in-one lock %s locks the new entry", "%s 的条目与 mcp.lock 中的不同：未启动；mcp-all-in-one lock %s 可锁定新条目", s.Name, s.Name)
	}
	if err := f.Check(ctx, s); err != nil {
		return nil, err
	}
	if e.Level != LevelTree {
		return &Program{Path: s.Command, Args: s.Args, Env: environ}, nil
	}
	pkg := sandbox.ReadPackage(s.Command, s.Args)
	if pkg == nil {
		return nil, i18n.Errorf("%s is no longer started by npx or uvx; mcp-all-in-one lock %s locks it as it is now", "%s 不再由 npx 或 uvx 启动；mcp-all-in-one lock %s 可按现状锁定", s.Name, s.Name)
	}
	dir := prefixDir(e)
	if err := f.install(ctx, s, e, dir); err != nil {
		return nil, explain(s, e, err)
	}
	path, args, err := pkg.Program(dir, environ)
	if err != nil {
		return nil, err
	}
	return &Program{Path: path, Args: args, Env: writeNothing(environ), Prefix: dir}, nil
}

// writeNothing prevents Python from adding compiled files to a prefix, which
// must contain only installed files.
func writeNothing(environ []string) []string {
	const name = "PYTHONDONTWRITEBYTECODE="
	environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool { return strings.HasPrefix(entry, name) })
	return append(environ, name+"1")
}

// Check compares a server with its lock without installing or starting it.
func (f *File) Check(ctx context.Context, s *config.Server) error {
	e, err := f.entryOf(s)
	switch {
	case err != nil:
		return err
	case e.Level == LevelImage && imageOf(s) != e.Image:
		return i18n.Errorf("%s: it runs the image %s, mcp.lock says %s: not started", "%s：运行的镜像为 %s，mcp.lock 中为 %s：未启动", s.Name, imageOf(s), e.Image)
	case e.Level == LevelBundle:
		return checkBundle(s, e)
	case e.Level == LevelFile:
		return f.checkProgram(s, e)
	case e.Level != LevelTree:
		return nil
	}
	return f.checkTree(ctx, s, e)
}

// entryOf returns the lock entry of a server, if its config entry is the one
// that was locked.
func (f *File) entryOf(s *config.Server) (*Entry, error) {
	e := f.Servers[Key(s)]
	switch {
	case e == nil:
		return nil, i18n.Errorf("%s is not in mcp.lock; mcp-all-in-one lock %s adds it", "%s 不在 mcp.lock 中；mcp-all-in-one lock %s 可加入", s.Name, s.Name)
	case e.Entry != EntryHash(s):
		return nil, i18n.Errorf("%s: the entry differs from mcp.lock; mcp-all-in-one lock %s locks the new one", "%s：条目与 mcp.lock 中的不同；mcp-all-in-one lock %s 可锁定新条目", s.Name, s.Name)
	}
	return e, nil
}

func (f *File) checkProgram(s *config.Server, e *Entry) error {
	now, err := programHash(s.Command)
	if err != nil {
		return err
	}
	if now != e.Program {
		return i18n.Errorf("%s: the program %s has %s, mcp.lock says %s: not started", "%s：程序 %s 为 %s，mcp.lock 中为 %s：未启动", s.Name, s.Command, now, e.Program)
	}
	return nil
}

// checkTree compares the lock files of the tool with the hash in mcp.lock, and
// the installed runtime with the one that was locked.
func (f *File) checkTree(ctx context.Context, s *config.Server, e *Entry) error {
	now, err := treeHash(f.Dir(Key(s)))
	if err != nil {
		return err
	}
	if now != e.Tree {
		return i18n.Errorf("%s: its lock files have the hash %s, mcp.lock says %s: not started", "%s：其锁文件的哈希为 %s，mcp.lock 中为 %s：未启动", s.Name, now, e.Tree)
	}
	program := "python3"
	if e.NPM != "" {
		program = "node"
	}
	if is := runtimeOf(ctx, s, program); is != e.Runtime {
		return i18n.Errorf("%s: the lock was made for %s, but this system has %s", "%s：锁文件适用于 %s，而本系统为 %s", s.Name, e.Runtime, is)
	}
	return nil
}

var integrity = lazy.Regexp(`wanted (sha\d+-\S+) but got (sha\d+-[^\s.]+)`)

// explain replaces the integrity error of npm or uv by a message that names the
// server and mcp.lock.
func explain(s *config.Server, e *Entry, err error) error {
	var failed *toolError
	if !errors.As(err, &failed) {
		return err
	}
	if m := integrity().FindStringSubmatch(failed.said); m != nil {
		return i18n.Errorf("%s: %s has %s, mcp.lock says %s: not started; the package was replaced, or the registry cannot be trusted. mcp-all-in-one lock %s locks the new one",
			"%s：%s 为 %s，mcp.lock 中为 %s：未启动；软件包被替换，或注册表不可信。mcp-all-in-one lock %s 可锁定新内容", s.Name, e.NPM+e.PyPI, m[2], m[1], s.Name)
	}
	return i18n.Errorf("%s: installing the version in mcp.lock: %w", "%s：按 mcp.lock 安装失败：%w", s.Name, err)
}

// Allows reports whether the lock has this version of a definition. A server
// that was locked without its definitions may show any.
func (f *File) Allows(id, kind, name, fingerprint string) bool {
	e := f.Servers[id]
	if e == nil {
		return false
	}
	switch kind {
	case "tool":
		return e.Tools == nil || e.Tools[name] == fingerprint
	case "prompt":
		return e.Tools == nil || e.Prompts[name] == fingerprint
	case "instructions":
		return e.Tools == nil || e.Instructions == fingerprint
	}
	return true
}
