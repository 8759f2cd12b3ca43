package lock

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// The files of ours in a prefix: the hashes of all others, and the boot in which
// they were last compared.
const (
	filesName = ".files"
	bootName  = ".boot"
)

func prefixName(e *Entry) string {
	sum := sha256.Sum256([]byte("lock " + e.Runtime + " " + e.Tree))
	return hex.EncodeToString(sum[:16])
}

func readLock(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, i18n.Errorf("reading %s: %w", "读取 %s 失败：%w", path, err)
	}
	return data, nil
}

// installing lets one installation happen at a time.
var installing sync.Mutex

// install puts what is locked into dir, from the lock file alone. What is there
// already is compared with its hashes once a boot.
func (f *File) install(ctx context.Context, s *config.Server, e *Entry, dir string) error {
	installing.Lock()
	defer installing.Unlock()
	if _, err := os.Stat(filepath.Join(dir, filesName)); err == nil {
		return verify(dir)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range lockFiles {
		data, err := os.ReadFile(filepath.Join(f.Dir(Key(s)), name))
		if err != nil {
			continue // of the other tool
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	var err error
	if e.NPM != "" {
		_, err = tool(ctx, s, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", "--loglevel=error")
	} else {
		err = syncPyPI(ctx, s, e, dir)
	}
	if err != nil {
		return err
	}
	files, err := hashes(dir)
	if err != nil {
		return err
	}
	data, err := json.Marshal(files)
	if err != nil {
		return err
	}
	return replace(filepath.Join(dir, filesName), data)
}

// syncPyPI installs what a uv.lock says. Only packages that a person accepted
// are built.
func syncPyPI(ctx context.Context, s *config.Server, e *Entry, dir string) error {
	args := []string{"sync", "--quiet", "--locked", "--no-install-project"}
	if len(e.Build) == 0 {
		args = append(args, "--no-build")
	} else {
		data, err := readLock(filepath.Join(dir, "uv.lock"))
		if err != nil {
			return err
		}
		for _, m := range lockedName.FindAllStringSubmatch(string(data), -1) {
			if !slices.Contains(e.Build, m[1]+"=="+m[2]) && m[1] != "locked" {
				args = append(args, "--no-build-package", m[1])
			}
		}
	}
	_, err := tool(ctx, s, dir, "uv", args...)
	return err
}

// verify compares the files of a prefix with what was installed, on its first
// use since the machine started.
func verify(dir string) error {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // elsewhere it is compared every time
	if last, err := os.ReadFile(filepath.Join(dir, bootName)); err == nil && len(boot) > 0 && bytes.Equal(last, boot) {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(dir, filesName))
	if err != nil {
		return err
	}
	var want map[string]string
	if err := json.Unmarshal(data, &want); err != nil {
		return err
	}
	now, err := hashes(dir)
	if err != nil {
		return err
	}
	for name, hash := range want {
		if now[name] != hash {
			return i18n.Errorf("%s in %s is not what was installed: remove that folder", "%[2]s 中的 %[1]s 与安装时不同：请删除该文件夹", name, dir)
		}
	}
	for name := range now {
		if want[name] == "" {
			return i18n.Errorf("%s in %s was not installed: remove that folder", "%[2]s 中的 %[1]s 不是安装的内容：请删除该文件夹", name, dir)
		}
	}
	return os.WriteFile(filepath.Join(dir, bootName), boot, 0o600)
}

// hashes returns the hash of every file below dir, except our own and compiled Python files.
func hashes(dir string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && d.Name() == "__pycache__":
			return filepath.SkipDir
		case d.IsDir() || name == filesName || name == bootName || strings.HasSuffix(name, ".tmp"):
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			all[name] = "link " + to
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			all[name] = fileHash(data)
		}
		return err
	})
	return all, err
}
