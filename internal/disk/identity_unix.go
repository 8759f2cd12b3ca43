//go:build unix

package disk

import (
	"fmt"
	"os"
	"syscall"
)

// FileID identifies a file by its device and inode; "" if the file does not exist.
func FileID(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}
