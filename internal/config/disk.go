package config

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// disk is what writing a file needs of the file system. Tests put one in its
// place that fails, or that kills the process, at a chosen step.
type disk interface {
	CreateTemp(dir, pattern string) (diskFile, error)
	Rename(from, to string) error
	Remove(name string) error
	SyncDir(dir string) error
}

// diskFile is a file being written.
type diskFile interface {
	io.WriteCloser
	Name() string
	Chmod(mode fs.FileMode) error
	Sync() error
}

// osDisk is the real one.
type osDisk struct{}

func (osDisk) CreateTemp(dir, pattern string) (diskFile, error) { return os.CreateTemp(dir, pattern) }
func (osDisk) Rename(from, to string) error                     { return os.Rename(from, to) }
func (osDisk) Remove(name string) error                         { return os.Remove(name) }

// SyncDir makes a rename durable where directories can be synced.
func (osDisk) SyncDir(dir string) error {
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

// replaceFile writes data to path so that a reader, at any time and
// after any crash, finds the old content or the new one.
func replaceFile(d disk, path string, data []byte, mode fs.FileMode) error {
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

// fillFile writes and closes f.
func fillFile(f diskFile, data []byte, mode fs.FileMode) error {
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

// removeStale removes what crashed writers left. The caller holds the lock,
// so nobody is writing.
func removeStale(d disk, path string) {
	stale, err := filepath.Glob(filepath.Join(globQuote(filepath.Dir(path)), globQuote("."+filepath.Base(path))+".*.tmp"))
	if err != nil {
		return
	}
	for _, name := range stale {
		d.Remove(name)
	}
}

// globQuote makes a path match only itself.
func globQuote(path string) string {
	if filepath.Separator == '\\' {
		return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(path)
	}
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(path)
}
