package disk

import (
	"os"
	"path/filepath"
)

// RealPath is the file that path leads to: links are followed, of a file that
// does not exist yet those of its directory. A path that leads nowhere stays.
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

// SameFile reports whether two paths lead to one file: through links, under
// two names, or in another spelling where the disk does not mind.
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

// From is the path that somebody in dir means by path. On Windows one that
// begins with a slash is on the drive of dir.
func From(dir, path string) string {
	switch {
	case filepath.IsAbs(path):
		return path
	case path != "" && os.IsPathSeparator(path[0]):
		return filepath.VolumeName(dir) + path
	}
	return filepath.Join(dir, path)
}
