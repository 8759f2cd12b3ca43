package lock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// known holds the hashes of the files below a prefix: the expected ones, and the
// ones that this process has found, each with the stamp of its file.
type known struct {
	want  map[string]string
	found map[string]hashed
}

type hashed struct {
	stamp stamp
	hash  string
}

// prefixes has the known files by folder. installing guards it.
var prefixes = map[string]*known{}

func forget(dir string) { delete(prefixes, dir) }

// Verify compares a server with its lock, and all its installed files with the
// hashes from the installation. A package that is not installed yet is not
// compared: it will be installed only from the lock.
func (f *File) Verify(ctx context.Context, s *config.Server) error {
	installing.Lock()
	forget(bundleDir(s)) // all its files are read
	installing.Unlock()
	if err := f.Check(ctx, s); err != nil {
		return err
	}
	e := f.Servers[Key(s)]
	if e.Level != LevelTree {
		return nil
	}
	dir := prefixDir(e)
	if !isInstalled(dir) {
		return nil
	}
	installing.Lock()
	defer installing.Unlock()
	if k := prefixes[dir]; k != nil {
		k.found = nil
	}
	return compare(s, dir)
}

// compare compares the files of a prefix with the hashes from the installation.
// The list of hashes is read once, so a later change of the list cannot hide a
// change of a file from this process.
func compare(s *config.Server, dir string) error {
	k := prefixes[dir]
	if k == nil {
		k = &known{}
		data, err := os.ReadFile(filesOf(dir))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, &k.want); err != nil {
			return i18n.Errorf("reading %s: %w", "读取 %s 失败：%w", filesOf(dir), err)
		}
		prefixes[dir] = k
	}
	now, err := k.hashes(dir)
	if err != nil {
		return err
	}
	var changed, added []string
	for name, hash := range k.want {
		if now[name] != hash {
			changed = append(changed, name)
		}
	}
	for name := range now {
		if k.want[name] == "" {
			added = append(added, name)
		}
	}
	switch {
	case len(changed) > 0:
		return i18n.Errorf("%s: %s in %s was changed after the installation: not started; remove that folder to install it again",
			"%[1]s：%[3]s 中的 %[2]s 在安装后被修改：未启动；删除该文件夹后会重新安装", s.Name, slices.Min(changed), dir)
	case len(added) > 0:
		return i18n.Errorf("%s: %s in %s was added after the installation: not started; remove that folder to install it again",
			"%[1]s：%[3]s 中的 %[2]s 是安装之后添加的：未启动；删除该文件夹后会重新安装", s.Name, slices.Min(added), dir)
	}
	return nil
}

// hashes returns the hash of every file in dir. A file that is unchanged since
// it was hashed is not read again. The others are read in parallel, because the
// start of a server waits for them.
func (k *known) hashes(dir string) (map[string]string, error) {
	all, found := map[string]string{}, map[string]hashed{}
	var guard sync.Mutex // guards all and found
	var readers errgroup.Group
	readers.SetLimit(runtime.GOMAXPROCS(0))
	keep := func(name string, h hashed, settled bool) {
		guard.Lock()
		defer guard.Unlock()
		all[name] = h.hash
		if settled {
			found[name] = h
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			keep(name, hashed{hash: "link " + to}, false)
			return err
		case !d.Type().IsRegular():
			keep(name, hashed{hash: d.Type().String()}, false)
			return nil
		}
		readers.Go(func() error {
			is, settled := stampOf(path)
			h := k.found[name]
			if h.hash == "" || h.stamp != is {
				hash, err := contentHash(path)
				if err != nil {
					return err
				}
				h = hashed{is, hash}
			}
			keep(name, h, settled)
			return nil
		})
		return nil
	})
	if failed := readers.Wait(); err == nil {
		err = failed
	}
	k.found = found
	return all, err
}

// A package has thousands of small files. Allocating a buffer for each would
// cost more than reading them.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// contentHash returns the hash of the content of a file.
func contentHash(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h, buffer := sha256.New(), buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buffer)
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{file}, buffer[:]); err != nil { // hide the File's WriteTo, which allocates its own buffer
		return "", err
	}
	return "sha256-" + hex.EncodeToString(h.Sum(nil)), nil
}
