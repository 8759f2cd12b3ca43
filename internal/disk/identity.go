package disk

import (
	"os"
	"path/filepath"
)

// RealPath returns path with its links followed. If the file does not exist, it
// follows the links of its directory. If that does not exist either, it returns the
// absolute path.
func RealPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// SameFile reports whether two paths lead to the same file: through links, hard
// links, or another spelling on a case-insensitive file system.
func SameFile(a, b string) bool {
	if RealPath(a) == RealPath(b) {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// From returns path as seen from dir. On Windows, a path that begins with a slash
// is on the drive of dir.
func From(dir, path string) string {
	switch {
	case filepath.IsAbs(path):
		return path
	case path != "" && os.IsPathSeparator(path[0]):
		return filepath.VolumeName(dir) + path
	}
	return filepath.Join(dir, path)
}
