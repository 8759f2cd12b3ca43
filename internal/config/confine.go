package config

import (
	"path/filepath"
	"strings"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// ErrConfined is what a path to anything but the config file gets.
var ErrConfined = i18n.Errorf("路径遍历检测：不允许访问系统敏感文件", "路径遍历检测：不允许访问系统敏感文件")

// Confine returns the file that a client may name: the current config file and
// no other, under whatever path. "" is the current file too.
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
