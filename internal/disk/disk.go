// Package disk reads, replaces and locks files, so that a reader always finds a
// complete file and writers do not overwrite each other's changes.
package disk

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// A Disk has the file system operations that writing a file needs. Tests replace it
// with one that fails, or kills the process, at a chosen step.
type Disk interface {
	CreateTemp(dir, pattern string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	SyncDir(dir string) error
}

// A File is a file being written.
type File interface {
	io.WriteCloser
	Name() string
	Chmod(mode fs.FileMode) error
	Sync() error
}

// OS is the real file system.
type OS struct{}

func (OS) CreateTemp(dir, pattern string) (File, error) { return os.CreateTemp(dir, pattern) }
func (OS) Rename(from, to string) error                 { return os.Rename(from, to) }
func (OS) Remove(name string) error                     { return os.Remove(name) }

// SyncDir makes a rename durable on systems where directories can be synced.
func (OS) SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Replace writes data to path atomically: at any time and after any crash, a reader
// finds either the old or the new content.
func Replace(d Disk, path string, data []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	f, err := d.CreateTemp(dir, tempPattern(path))
	if err != nil {
		return i18n.Errorf("writing %s: %w", "写入 %s 失败：%w", path, err)
	}
	err = fillFile(f, data, mode)
	if err == nil {
		keepOwner(f.Name(), path)
		err = d.Rename(f.Name(), path)
	}
	if err != nil {
		d.Remove(f.Name())
		return i18n.Errorf("writing %s: %w", "写入 %s 失败：%w", path, err)
	}
	if err := d.SyncDir(dir); err != nil {
		return i18n.Errorf("writing %s: %w", "写入 %s 失败：%w", path, err)
	}
	return nil
}

// Write writes data to path like Replace, and creates the folder if it is missing.
func Write(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return Replace(OS{}, path, data, mode)
}

// fillFile writes and closes f.
func fillFile(f File, data []byte, mode fs.FileMode) error {
	err := f.Chmod(mode)
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func tempPattern(path string) string { return "." + filepath.Base(path) + ".*.tmp" }

// RemoveStale removes temporary files of crashed writers. The caller must hold the
// lock, so that no writer is active.
func RemoveStale(d Disk, path string) {
	stale, err := filepath.Glob(filepath.Join(GlobQuote(filepath.Dir(path)), GlobQuote("."+filepath.Base(path))+".*.tmp"))
	if err != nil {
		return
	}
	for _, name := range stale {
		d.Remove(name)
	}
}

// GlobQuote returns a pattern that matches only path.
func GlobQuote(path string) string {
	if filepath.Separator == '\\' {
		return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(path)
	}
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(path)
}
