package install

import (
	"archive/zip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// Folder returns the folder of a bundle below the folder of all bundles.
func (b *Bundle) Folder(dir string) string { return filepath.Join(dir, b.SHA256) }

// Unpack unpacks the bundle into its folder below dir, completely or not at
// all.
func (b *Bundle) Unpack(dir string) error {
	if _, err := os.Stat(b.Folder(dir)); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(dir, ".unpacking-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := b.unpackTo(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, b.Folder(dir)); err != nil && !errors.Is(err, fs.ErrExist) {
		return i18n.Errorf("unpacking the bundle: %w", "解包失败：%w", err)
	}
	return nil
}

func (b *Bundle) unpackTo(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left, made, buf := int64(maxUnpacked), map[string]bool{}, make([]byte, 64<<10)
	// Consecutive entries are usually in the same folder, so it is opened once
	// for them.
	current, in := root, "."
	defer func() { current.Close() }()
	for _, f := range b.zip.File {
		name := strings.TrimSuffix(f.Name, "/")
		folder := path.Dir(name)
		if f.Mode().IsDir() {
			folder = name
		}
		if !made[folder] {
			if err := root.MkdirAll(folder, 0o700); err != nil {
				return badBundle("%s: %v", "%s：%v", Show(f.Name), i18n.Why(err))
			}
			made[folder] = true
		}
		if f.Mode().IsDir() {
			continue
		}
		mode := fs.FileMode(0o400)
		if f.Mode()&0o111 != 0 || b.Manifest.Server.Type == "binary" && name == path.Clean(b.Manifest.Server.Entry) {
			mode = 0o500
		}
		if folder != in {
			next, err := root.OpenRoot(folder)
			if err != nil {
				return badBundle("%s: %v", "%s：%v", Show(f.Name), i18n.Why(err))
			}
			if current != root {
				current.Close()
			}
			current, in = next, folder
		}
		n, err := unpackFile(current, f, path.Base(name), mode, left, buf)
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// unpackFile writes one file. While inflating, it checks the size against the
// header.
func unpackFile(root *os.Root, f *zip.File, name string, mode fs.FileMode, left int64, buf []byte) (int64, error) {
	in, err := f.Open()
	if err != nil {
		return 0, badBundle("%s: %v", "%s：%v", Show(f.Name), i18n.Why(err))
	}
	defer in.Close()
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return 0, badBundle("%s: %v", "%s：%v", Show(f.Name), i18n.Why(err))
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{out}, io.LimitReader(in, min(left, int64(f.UncompressedSize64))+1), buf)
	if e := out.Close(); err == nil {
		err = e
	}
	switch {
	case err != nil:
		return n, badBundle("%s: %v", "%s：%v", Show(f.Name), i18n.Why(err))
	case n > left || uint64(n) != f.UncompressedSize64:
		return n, badBundle("%s is larger than its header says", "%s 的大小与头部不符", Show(f.Name))
	}
	return n, nil
}
