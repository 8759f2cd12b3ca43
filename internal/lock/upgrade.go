package lock

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
	"mcp-all-in-one/internal/sandbox"
)

// Newest requests the newest version of a package, even if the entry names
// another.
const Newest = "*"

// Upgrade resolves the package of a server again, in the folder dir, and
// changes nothing else. The new lock can be tried before Take makes it
// effective. If the entry names a version, next is the server with the new
// version.
func (f *File) Upgrade(ctx context.Context, s *config.Server, version, dir string) (staged *File, next *config.Server, err error) {
	e, err := f.entryOf(s)
	switch {
	case err != nil:
		return nil, nil, err
	case e.Level != LevelTree:
		return nil, nil, i18n.Errorf("%s does not run a package of npm or PyPI, so there is no version to choose; mcp-all-in-one lock %s locks it as it is now",
			"%s 运行的不是 npm 或 PyPI 的软件包，没有可选的版本；mcp-all-in-one lock %s 可按现状锁定", s.Name, s.Name)
	}
	if staged, err = Stage(ctx, s, version, dir); err != nil {
		return nil, nil, err
	}
	next = s
	if pkg := sandbox.ReadPackage(s.Command, s.Args); pkg.Version != "" {
		changed := *s
		changed.Args = pkg.At(staged.Servers[Key(s)].Version(), s.Args)
		next = &changed
	}
	return staged, next, nil
}

// Take makes the staged lock of a server effective. approval is the hash of its
// entry if the entry has changed, else empty. Take fails if the server was
// locked again in the meantime, because a person has compared another lock.
func (f *File) Take(key string, staged *File, approval string) error {
	now, err := open(f.path)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(now.Servers[key], f.Servers[key]) {
		return i18n.Errorf("%s was locked again in the meantime, so nothing was changed", "%s 在此期间已被重新锁定，未作任何修改", key)
	}
	if approval != "" {
		staged.Servers[key].Entry = hashOf(approval)
	}
	if staged.Servers[key].Level == LevelTree {
		if err := f.keep(key, staged.Dir(key)); err != nil {
			return err
		}
	}
	return f.Put(key, staged.Servers[key])
}

// Version returns the version of the locked package.
func (e *Entry) Version() string {
	if _, version, ok := strings.Cut(e.PyPI, "=="); ok {
		return version
	}
	return e.NPM[strings.LastIndexByte(e.NPM, '@')+1:]
}

// A Pinned is a package of a tree: its version and the hashes of its content.
// The hashes matter because a registry can serve other bytes under the same
// version, and a dependency with the same name and version can be another
// package.
type Pinned struct{ Version, Content string }

// Pinned returns the packages of a server by their path in the tree.
func (f *File) Pinned(key string) (map[string]Pinned, error) {
	all := map[string]Pinned{}
	if f.Servers[key].NPM != "" {
		t, err := readTree(filepath.Join(f.Dir(key), "package-lock.json"))
		if err != nil {
			return nil, err
		}
		for name, p := range t.packages {
			all[strings.TrimPrefix(name, "node_modules/")] = Pinned{p.Version, p.Integrity}
		}
		return all, nil
	}
	data, err := readLock(filepath.Join(f.Dir(key), "uv.lock"))
	if err != nil {
		return nil, err
	}
	for _, block := range strings.Split(string(data), "[[package]]")[1:] {
		m := lockedName().FindStringSubmatch(block)
		if m == nil || m[1] == "locked" { // the project that contains them
			continue
		}
		p := Pinned{m[2], strings.Join(lockedHash().FindAllString(block, -1), " ")}
		if other, ok := all[m[1]]; ok { // there is one version for each of several platforms
			p = Pinned{other.Version + ", " + p.Version, other.Content + " " + p.Content}
		}
		all[m[1]] = p
	}
	return all, nil
}

// isVersion matches the versions that are allowed after a package's name. npm
// and uv accept much more, including addresses.
var isVersion = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z.+!-]*$`)

// CheckVersion refuses a text that is not a version.
func CheckVersion(version string) error {
	if !isVersion().MatchString(version) {
		return i18n.Errorf("%q is not a version of a package", "%q 不是软件包的版本", version)
	}
	return nil
}
