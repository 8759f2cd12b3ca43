package config

import (
	"io"
	"io/fs"
	"os"

	"mcp-all-in-one/internal/i18n"
)

// How reading a file ends early.
var (
	errNotRegular = i18n.Errorf("not a regular file", "不是普通文件")
	errTooLarge   = i18n.Errorf("file too large", "文件过大")
)

// readRegular reads a regular file of at most limit bytes. It looks before it
// opens, because opening a pipe blocks, and again at what it opened.
func readRegular(path string, limit int64) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, info, errNotRegular
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
		return nil, info, errNotRegular
	}
	if info.Size() > limit {
		return nil, info, errTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errTooLarge
	}
	return data, info, err
}
