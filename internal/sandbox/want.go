package sandbox

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/safehttp"
)

// Wants are the actions of an unconfined server that its sandbox would refuse.
type Wants struct {
	// Read, Write and Hosts could be added to its sandbox rules; Listen could be set.
	Read   []string
	Write  []string
	Hosts  []string
	Listen bool
	// Secrets are files with keys or files of other programs; they are never proposed.
	// Unix are sockets. Direct are public addresses that the server connected to
	// without the proxy; a list of host names cannot allow them. Others are hosts
	// that a person is not asked about.
	Secrets []string
	Unix    []string
	Direct  []string
	Others  []string
}

// Learnt reads the notes about a server. The config file with the files beside it that
// belong to the gateway, and the secret files, are never proposed.
func Learnt(path, config string, secret []string) (*Wants, error) {
	allowed, list, err := readNotes(path)
	if err != nil {
		return nil, err
	}
	w, k := &Wants{}, newKnown(allowed, config, secret)
	var writes, reads []string
	for _, n := range list {
		switch n.Call {
		case noteOpen:
			switch {
			case k.allows(n):
			case k.secret(n.What) || n.Write && k.besideConfig(n.What):
				w.Secrets = append(w.Secrets, n.What)
			case n.Write:
				writes = append(writes, k.fold(n))
			default:
				reads = append(reads, k.fold(n))
			}
		case noteHost:
			if offered(n.What) {
				w.Hosts = append(w.Hosts, n.What)
			} else {
				w.Others = append(w.Others, n.What)
			}
		case noteConnect:
			target, err := netip.ParseAddrPort(n.What)
			switch {
			case err != nil || target.Port() == 0 || slices.Contains(allowed.Addresses, n.What):
			case safehttp.Public(target.Addr()):
				w.Direct = append(w.Direct, n.What)
			case target.Addr().Unmap().IsLinkLocalUnicast(): // clouds hand out keys there
				w.Others = append(w.Others, n.What)
			default:
				w.Hosts = append(w.Hosts, n.What)
			}
		case noteUnix:
			w.Unix = append(w.Unix, n.What)
		case noteListen:
			w.Listen = !allowed.Listen
		}
	}
	w.Write = outermost(writes, nil)
	w.Read = outermost(reads, w.Write)
	for _, texts := range []*[]string{&w.Hosts, &w.Secrets, &w.Unix, &w.Direct, &w.Others} {
		slices.Sort(*texts)
		*texts = slices.Compact(*texts)
	}
	return w, nil
}

// outermost removes paths that are inside another of the paths, or inside one of there.
func outermost(paths, there []string) []string {
	slices.Sort(paths)
	var out []string
	for _, path := range paths {
		if !slices.ContainsFunc(slices.Concat(out, there), func(dir string) bool { return within(path, dir) }) {
			out = append(out, path)
		}
	}
	return out
}

// known classifies the files of this machine.
type known struct {
	read, write []string // already readable or writable
	home        string
	secrets     []string
	config      string // the folder of the config file
}

func newKnown(p Profile, config string, secret []string) known {
	k := known{home: realPath(folders.Home()), write: p.Write}
	k.secrets = append(secretPaths(k.home), withReal(slices.Clone(secret))...)
	if config != "" {
		config = realPath(config)
		k.config = filepath.Dir(config)
		k.secrets = append(k.secrets, config+"*", filepath.Join(k.config, "mcp.lock*"))
	}
	k.read = slices.Concat(p.Read, p.Write)
	for i, path := range k.read {
		k.read[i] = realPath(path) // /lib may be a link, but notes have real paths
	}
	return k
}

func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// allows reports whether the sandbox already allows the action.
func (k *known) allows(n Note) bool {
	list := k.read
	if n.Write {
		list = k.write
	}
	return slices.ContainsFunc(list, func(dir string) bool { return within(n.What, dir) })
}

// secret reports whether a file has keys or belongs to the gateway. A folder that
// contains such files, or is shared, counts as secret too.
func (k *known) secret(path string) bool {
	return isSecret(k.secrets, path) || isFolder(path) && (k.shared(path) || k.holdsSecret(path))
}

func (k *known) holdsSecret(dir string) bool {
	return slices.ContainsFunc(k.secrets, func(s string) bool { return within(s, dir) })
}

// besideConfig reports whether a file is in the folder of the config file. The
// gateway keeps its own files there, under names that are not all known.
func (k *known) besideConfig(path string) bool {
	return filepath.Dir(path) == k.config && !isFolder(path)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// fold returns the path to allow for a file: its folder, or the file itself if the
// folder also has files of other programs or secrets.
func (k *known) fold(n Note) string {
	dir := filepath.Dir(n.What)
	if n.Folder || k.common(dir) || k.holdsSecret(dir) {
		return n.What
	}
	return dir
}

// common reports whether many programs have files in a folder.
func (k *known) common(dir string) bool {
	hidden := k.home != "" && filepath.Dir(dir) == k.home && strings.HasPrefix(filepath.Base(dir), ".")
	system := slices.ContainsFunc([]string{"/dev", "/proc", "/sys"}, func(top string) bool { return within(dir, top) })
	return hidden || system || k.shared(dir) || slices.Contains([]string{realPath(os.TempDir()), "/var/tmp", "/var/lib", "/var/run"}, dir)
}

// shared reports whether a folder is the root, is directly below it, or contains the
// home directory.
func (k *known) shared(dir string) bool {
	return strings.Count(dir, "/") < 2 || k.home != "" && within(k.home, dir)
}
