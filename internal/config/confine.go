package config

import (
	"path/filepath"
	"strings"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// ErrConfined is returned for a path to any file but the config file.
var ErrConfined = i18n.Errorf("路径遍历检测：不允许访问系统敏感文件", "路径遍历检测：不允许访问系统敏感文件")

// Confine returns the file that a client means by path. Only the current config
// file is allowed, by any path that leads to it; "" also means the current
// file.
func Confine(current, path string, o LoadOptions) (string, error) {
	o = o.WithDefaults()
	if path == "" {
		return current, nil
	}
	if strings.ContainsRune(path, 0) {
		return "", ErrConfined
	}
	if !disk.SameFile(current, disk.From(filepath.Dir(current), disk.ExpandHome(path, o.Home))) {
		return "", ErrConfined
	}
	return current, nil
}
