package lock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/i18n"
)

// prefixDir returns the folder into which a locked package is installed.
func prefixDir(e *Entry) string {
	sum := sha256.Sum256([]byte("locked " + e.Runtime + " " + e.Tree))
	return filepath.Join(folders.StateDir(), "prefix", hex.EncodeToString(sum[:16]))
}

// filesOf returns the path of the list with the hashes of all files of a
// prefix. The list is beside the prefix, so that a server which can write in
// the prefix cannot change the list.
func filesOf(dir string) string { return dir + ".files" }

// isInstalled reports whether a prefix was installed completely. Its folder may
// have been removed since, as the error messages advise.
func isInstalled(dir string) bool {
	_, err := os.Lstat(filesOf(dir))
	_, gone := os.Lstat(dir)
	return err == nil && gone == nil
}

func readLock(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, i18n.Errorf("reading %s: %w", "读取 %s 失败：%w", path, err)
	}
	return data, nil
}

// installing serializes installations.
var installing sync.Mutex

// install installs a locked package into dir, only from the lock file. An
// existing installation is compared with its hashes.
func (f *File) install(ctx context.Context, s *config.Server, e *Entry, dir string) error {
	installing.Lock()
	defer installing.Unlock()
	if isInstalled(dir) {
		return compare(s, dir)
	}
	forget(dir)
	if err := errors.Join(os.RemoveAll(filesOf(dir)), os.RemoveAll(dir)); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range lockFiles {
		data, err := os.ReadFile(filepath.Join(f.Dir(Key(s)), name))
		if err != nil {
			continue // a lock file of the other tool
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
	files, err := (&known{}).hashes(dir)
	if err != nil {
		return err
	}
	data, err := json.Marshal(files)
	if err != nil {
		return err
	}
	return disk.Replace(disk.OS{}, filesOf(dir), data, 0o644)
}

// syncPyPI installs the packages of a uv.lock. Only packages that a person has
// accepted are built.
func syncPyPI(ctx context.Context, s *config.Server, e *Entry, dir string) error {
	args := []string{"sync", "--quiet", "--locked", "--no-install-project"}
	if len(e.Build) == 0 {
		args = append(args, "--no-build")
	} else {
		data, err := readLock(filepath.Join(dir, "uv.lock"))
		if err != nil {
			return err
		}
		for _, m := range lockedName().FindAllStringSubmatch(string(data), -1) {
			if !slices.Contains(e.Build, m[1]+"=="+m[2]) && m[1] != "locked" {
				args = append(args, "--no-build-package", m[1])
			}
		}
	}
	if _, err := tool(ctx, s, dir, "uv", args...); err != nil {
		return err
	}
	return compile(ctx, dir)
}

// compile writes the compiled form of every Python file. So the compiled files
// are compared like any other file, and the server writes no others (see
// Program.Env). Without -S, Python would run the .pth files of the packages. A
// file that does not compile cannot be imported either, so failures are
// ignored.
func compile(ctx context.Context, dir string) error {
	venv := filepath.Join(dir, ".venv")
	err := exec.CommandContext(ctx, filepath.Join(venv, "bin", "python"), "-I", "-S", "-m", "compileall", "-qq", filepath.Join(venv, "lib")).Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		return i18n.Errorf("running %s: %w", "运行 %s 失败：%w", "compileall", err)
	}
	return ctx.Err()
}
