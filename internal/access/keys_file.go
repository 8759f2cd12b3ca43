package access

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

const maxKeyFile = 16 << 20

// keyFile is the content of the file.
type keyFile struct {
	Keys []Key `json:"keys"`
}

// fileStamp changes when the file does: a rename brings a new inode.
type fileStamp struct {
	info fs.FileInfo
}

func (s fileStamp) same(info fs.FileInfo) bool {
	if s.info == nil || info == nil {
		return s.info == nil && info == nil
	}
	return os.SameFile(s.info, info) && s.info.Size() == info.Size() && s.info.Mode() == info.Mode() && s.info.ModTime().Equal(info.ModTime())
}

func readKeys(path string) ([]Key, fs.FileInfo, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, i18n.Errorf("reading the keys: %w", "读取访问密钥失败：%w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, i18n.Errorf("reading the keys: %w", "读取访问密钥失败：%w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return nil, info, i18n.Errorf("%s can be written by others (mode %04o): chmod 600 it", "其他用户可写 %s（权限 %04o）：请执行 chmod 600", path, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, info, i18n.Errorf("reading the keys: %w", "读取访问密钥失败：%w", err)
	}
	var content keyFile
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, info, i18n.Errorf("%s does not hold keys: %w", "%s 中不是访问密钥：%w", path, err)
	}
	return content.Keys, info, nil
}

// change lets edit change the list and writes it: a reader, at any time
// and after any crash, finds the old list or the new one.
func (k *Keys) change(edit func([]Key) ([]Key, error)) error {
	if err := os.MkdirAll(filepath.Dir(k.path), 0o700); err != nil {
		return i18n.Errorf("storing the keys: %w", "保存访问密钥失败：%w", err)
	}
	unlock, err := disk.Lock(k.path)
	if err != nil {
		return err
	}
	defer unlock()
	list, _, err := readKeys(k.path)
	if err != nil {
		return err
	}
	if list, err = edit(list); err != nil {
		return err
	}
	data, err := json.MarshalIndent(keyFile{Keys: list}, "", "  ")
	if err != nil {
		return i18n.Errorf("storing the keys: %w", "保存访问密钥失败：%w", err)
	}
	if err := replaceFile(k.path, append(data, '\n')); err != nil {
		return i18n.Errorf("storing the keys: %w", "保存访问密钥失败：%w", err)
	}
	k.refresh(true)
	return nil
}

func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync() // not every system can
		dir.Close()
	}
	return nil
}
