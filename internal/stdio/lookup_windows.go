package stdio

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"strings"
)

func isExecutable(fs.FileInfo) bool { return true }

// executableNames returns the file names that a bare command may have: the command
// itself, or with an extension of PATHEXT.
func executableNames(command string, env []string) []string {
	extensions := envValue(env, "PATHEXT")
	extensions = cmp.Or(extensions, ".COM;.EXE;.BAT;.CMD")
	var names []string
	if filepath.Ext(command) != "" {
		names = append(names, command)
	}
	for _, ext := range strings.Split(extensions, ";") {
		names = append(names, command+strings.ToLower(ext))
	}
	return names
}
