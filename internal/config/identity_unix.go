//go:build unix

package config

import (
	"fmt"
	"os"
	"syscall"
)

// fileID names a file by its disk and its number there; "" when there is no
// such file.
func fileID(path string) string {
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
