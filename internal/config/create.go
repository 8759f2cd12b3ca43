package config

import (
	"os"
	"path/filepath"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// create writes the first config file of a personality, and its directory. It
// keeps a file that another process has written in the meantime.
func (o LoadOptions) create(found Found) (Found, error) {
	if err := os.MkdirAll(filepath.Dir(found.Path), 0o700); err != nil {
		return found, i18n.Errorf("creating the config file: %w", "创建配置文件失败：%w", err)
	}
	unlock, err := disk.Lock(found.Path)
	if err != nil {
		return found, err
	}
	defer unlock()
	if _, err := os.Stat(found.Path); err == nil {
		return found, nil
	}
	if err := disk.Replace(disk.OS{}, found.Path, defaultFile(o.Personality), 0o600); err != nil {
		return found, err
	}
	found.Created = true
	return found, nil
}
