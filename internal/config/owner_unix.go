//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"mcp-all-in-one/internal/say"
)

// checkOwner refuses a file that everybody may write, because writing it is
// running commands as us, and warns about one that somebody else may write.
func checkOwner(info fs.FileInfo, insecure bool, c *collector) {
	mode := info.Mode().Perm()
	if mode&0o002 != 0 {
		sev := SeverityError
		if insecure {
			sev = SeverityWarning
		}
		c.add(sev, pos{}, "", codeWorldWrite, fmt.Sprintf("%04o", mode))
		return
	}
	owner := -1
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(st.Uid)
	}
	switch {
	case owner > 0 && owner != os.Geteuid():
		c.add(SeverityWarning, pos{}, "", codeOwner, say.New("it belongs to user %d", "属于用户 %d", owner))
	case mode&0o020 != 0:
		c.add(SeverityWarning, pos{}, "", codeOwner, say.New("mode %04o", "权限 %04o", uint32(mode)))
	}
}

// exposed reports whether others than the owner may read a file of that mode.
func exposed(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }
