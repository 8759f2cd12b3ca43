package lock

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/sandbox"
)

// Newest asks for the newest version of a package, whatever the entry says.
const Newest = "*"

// Upgrade resolves the package of a server anew, in the folder dir, and changes
// nothing else: the new lock can be tried before Take makes it the one that
// holds. An entry that names a version gets the new one; next is that server.
func (f *File) Upgrade(ctx context.Context, s *config.Server, version, dir string) (staged *File, next *config.Server, err error) {
	e := f.Servers[Key(s)]
	switch {
	case e == nil:
		return nil, nil, i18n.Errorf("%s is not in mcp.lock; \"lock %s\" adds it", "%s 不在 mcp.lock 中；\"lock %s\" 可加入", s.Name, s.Name)
	case e.Level != LevelTree:
		return nil, nil, i18n.Errorf("%s runs no package of npm or PyPI, so there is no version to choose; \"lock %s\" takes it as it is now",
			"%s 运行的不是 npm 或 PyPI 的软件包，没有可选的版本；\"lock %s\" 可按现状锁定", s.Name, s.Name)
	case e.Entry != EntryHash(s):
		return nil, nil, i18n.Errorf("%s: the entry is not the one in mcp.lock", "%s：条目与 mcp.lock 中的不同", s.Name)
	}
	staged = &File{path: filepath.Join(dir, "mcp.lock"), Servers: map[string]*Entry{}}
	fresh, err := staged.resolve(ctx, s, version)
	if err != nil {
		return nil, nil, err
	}
	next = s
	if pkg := sandbox.ReadPackage(s.Command, s.Args); pkg.Version() != "" {
		changed := *s
		changed.Args = pkg.At(fresh.Version(), s.Args)
		next = &changed
	}
	staged.Servers[Key(s)] = fresh
	return staged, next, nil
}

// Take makes what was staged for a server the lock of it. approval is the hash
// of its entry where that has changed, and else empty.
func (f *File) Take(key string, staged *File, approval string) error {
	if approval != "" {
		staged.Servers[key].Entry = hashOf(approval)
	}
	if err := f.keep(key, staged.Dir(key)); err != nil {
		return err
	}
	f.Servers[key] = staged.Servers[key]
	return f.Write()
}

// Version is the version of the package that is locked.
func (e *Entry) Version() string {
	if _, version, ok := strings.Cut(e.PyPI, "=="); ok {
		return version
	}
	return e.NPM[strings.LastIndexByte(e.NPM, '@')+1:]
}

// Versions are the versions of the packages of a server by their place in the
// tree.
func (f *File) Versions(key string) (map[string]string, error) {
	all := map[string]string{}
	if f.Servers[key].NPM != "" {
		t, err := readTree(filepath.Join(f.Dir(key), "package-lock.json"))
		if err != nil {
			return nil, err
		}
		for name, p := range t.packages {
			all[strings.TrimPrefix(name, "node_modules/")] = p.Version
		}
		return all, nil
	}
	data, err := readLock(filepath.Join(f.Dir(key), "uv.lock"))
	if err != nil {
		return nil, err
	}
	for _, m := range lockedName.FindAllStringSubmatch(string(data), -1) {
		if m[1] != "locked" { // the project around them
			all[m[1]] = m[2]
		}
	}
	return all, nil
}

// isVersion is what may stand behind a package's name; npm and uv take much
// more, among it addresses.
var isVersion = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+!-]*$`)

// CheckVersion refuses what is no version.
func CheckVersion(version string) error {
	if !isVersion.MatchString(version) {
		return i18n.Errorf("%q is no version of a package", "%q 不是软件包的版本", version)
	}
	return nil
}
