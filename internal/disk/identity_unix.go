//go:build unix

package disk

import (
	"fmt"
	"os"
	"syscall"
)

// FileID names a file by its disk and its number there; "" when there is no
// such file.
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
