//go:build unix

package stdio

import "io/fs"

func isExecutable(info fs.FileInfo) bool { return info.Mode()&0o111 != 0 }

// executableNames returns the file names that a bare command may have.
func executableNames(command string, _ []string) []string { return []string{command} }
