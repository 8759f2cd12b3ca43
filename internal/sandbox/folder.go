package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"mcp-all-in-one/internal/i18n"
)

// ownFolder creates the folder of a server, with subfolders for its home and
// temporary files, and returns its real path. The server may write there, so below
// it no link is followed: it would lead the next start to a folder that the server
// has chosen.
func ownFolder(folder string) (string, error) {
	above := filepath.Dir(folder)
	if err := os.MkdirAll(above, 0o700); err != nil {
		return "", err
	}
	for _, sub := range []string{".", "home", "tmp"} {
		if err := realFolder(filepath.Join(folder, sub)); err != nil {
			return "", err
		}
	}
	real, err := filepath.EvalSymlinks(above)
	return filepath.Join(real, filepath.Base(folder)), err
}

// realFolder creates a folder, unless it exists. It refuses a link.
func realFolder(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return nil
	case info.Mode()&fs.ModeSymlink == 0:
		return i18n.Errorf("%s is not a folder, though it belongs to the server: not started; remove it, and the server gets a new one",
			"%s 本应是该服务器自己的文件夹，但不是：未启动；删除它后会新建", path)
	}
	to, err := os.Readlink(path)
	if err != nil {
		return err
	}
	return i18n.Errorf("%s is a link to %s, which the server may have made to reach another folder: not started; remove it, and the server gets a new folder",
		"%s 是指向 %s 的链接，可能是该服务器为访问其他文件夹而建：未启动；删除它后会新建文件夹", path, i18n.Seen(to))
}
