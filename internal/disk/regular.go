package disk

import (
	"io"
	"io/fs"
	"os"

	"mcp-all-in-one/internal/i18n"
)

// Errors of Read.
var (
	ErrNotRegular = i18n.Errorf("not a regular file", "不是普通文件")
	ErrTooLarge   = i18n.Errorf("file too large", "文件过大")
)

// Read reads a regular file of at most limit bytes. It checks the file before
// opening it, because opening a pipe blocks, and again after opening it.
func Read(path string, limit int64) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, info, ErrNotRegular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, info, ErrNotRegular
	}
	if info.Size() > limit {
		return nil, info, ErrTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = ErrTooLarge
	}
	return data, info, err
}
