//go:build unix

package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"mcp-all-in-one/internal/i18n"
)

// WritableByOthers says which users, other than the current user and root, may
// write or replace a file; empty if none.
func WritableByOthers(path string, info fs.FileInfo) i18n.Text {
	if owner := ownerOf(info); owner > 0 && owner != os.Geteuid() {
		return i18n.New("it belongs to user %d", "属于用户 %d", owner)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return i18n.New("mode %04o", "权限 %04o", uint32(mode))
	}
	dir, err := os.Stat(filepath.Dir(RealPath(path)))
	if err == nil && dir.Mode().Perm()&0o002 != 0 && dir.Mode()&fs.ModeSticky == 0 {
		return i18n.New("its folder has mode %04o", "所在目录权限为 %04o", uint32(dir.Mode().Perm()))
	}
	return i18n.Text{}
}

// ownerOf returns the user id of a file's owner; -1 if unknown.
func ownerOf(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// IsWorldWritable reports whether all users may write a file.
func IsWorldWritable(info fs.FileInfo) bool { return info.Mode().Perm()&0o002 != 0 }

// Exposed reports whether users other than the owner may access a file of that
// mode.
func Exposed(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }
