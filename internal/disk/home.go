package disk

import (
	"path/filepath"
	"strings"
)

// ExpandHome replaces a leading ~ with home.
func ExpandHome(path, home string) string {
	if home == "" || (path != "~" && !strings.HasPrefix(path, "~/") && !strings.HasPrefix(path, `~\`)) {
		return path
	}
	return filepath.Join(home, path[1:])
}
