package config

import "io/fs"

// checkOwner has nothing to look at: modes mean nothing on Windows, and the
// user's own folders are closed to others by default.
func checkOwner(fs.FileInfo, bool, *collector) {}

// exposed reports whether others than the owner may read a file of that mode.
func exposed(fs.FileMode) bool { return false }
