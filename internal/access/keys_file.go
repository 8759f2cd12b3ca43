package access

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"runtime"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

const maxKeyFile = 16 << 20

// keyFile is the content of the file.
type keyFile struct {
	Keys []Key `json:"keys"`
}

// fileStamp detects changes of the file: a rename brings a new inode.
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
	data, info, err := disk.Read(path, maxKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, info, i18n.Errorf("reading the keys: %w", "读取 API 密钥失败：%w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return nil, info, i18n.Errorf("%s can be written by others (mode %04o): chmod 600 it", "其他用户可写 %s（权限 %04o）：请执行 chmod 600", path, info.Mode().Perm())
	}
	list, err := parseKeys(path, data)
	return list, info, err
}

func parseKeys(path string, data []byte) ([]Key, error) {
	var content keyFile
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, i18n.Errorf("%s does not hold keys: %w", "%s 中不是 API 密钥：%w", path, err)
	}
	return content.Keys, nil
}

// change applies edit to the list and writes the result. A reader finds the old
// list or the new one at any time, even after a crash.
func (k *Keys) change(edit func([]Key) ([]Key, error)) error {
	if _, _, err := readKeys(k.path); err != nil { // for instance, other users may write to it
		return err
	}
	var failed error // the error of parseKeys or edit, which needs no prefix
	err := k.doc.Change(func(old []byte) ([]byte, error) {
		var list []Key
		if old != nil {
			if list, failed = parseKeys(k.path, old); failed != nil {
				return nil, failed
			}
		}
		if list, failed = edit(list); failed != nil {
			return nil, failed
		}
		data, err := json.MarshalIndent(keyFile{Keys: list}, "", "  ")
		return append(data, '\n'), err
	})
	if err == nil {
		k.refresh(true)
	}
	if err == nil || failed != nil {
		return failed
	}
	return i18n.Errorf("storing the keys: %w", "保存 API 密钥失败：%w", err)
}
