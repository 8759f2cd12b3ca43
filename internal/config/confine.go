package config

import (
	"path/filepath"
	"slices"
	"strings"

	"mcp-all-in-one/internal/say"
)

// ErrConfined is what a path outside the configuration gets.
var ErrConfined = say.Errorf("路径遍历检测：不允许访问系统敏感文件", "路径遍历检测：不允许访问系统敏感文件")

// Confine returns the file that a client may name: the current config file,
// or a config file in its directory or one of the directories where we look
// for one. Links are followed first, so that none leads out. "" is the
// current file.
func Confine(current, path string, o LoadOptions) (string, error) {
	o = o.withDefaults()
	if path == "" {
		return current, nil
	}
	if strings.ContainsRune(path, 0) || slices.Contains(strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }), "..") {
		return "", ErrConfined
	}
	path = expandHome(path, o.Home)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(current), path)
	}
	path = filepath.Clean(path)
	real, err := resolve(path)
	if err != nil {
		return "", ErrConfined
	}
	if cur, err := resolve(current); err == nil && cur == real {
		return current, nil
	}
	if !isConfigName(real) {
		return "", ErrConfined
	}
	dirs := []string{filepath.Dir(current)}
	for _, c := range o.candidates() {
		dirs = append(dirs, filepath.Dir(c.Path))
	}
	for _, dir := range dirs {
		if d, err := resolve(dir); err == nil && filepath.Dir(real) == d {
			return real, nil
		}
	}
	return "", ErrConfined
}

// isConfigName keeps the files beside a config file, such as secrets, records
// and backups, from being taken for one.
func isConfigName(path string) bool {
	name := filepath.Base(path)
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".pending.json") || name == "approvals.json" {
		return false
	}
	return slices.Contains([]string{".json", ".jsonc", ".yaml", ".yml"}, strings.ToLower(filepath.Ext(name)))
}

// resolve follows links; of a file that does not exist yet, those of its
// directory.
func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}
