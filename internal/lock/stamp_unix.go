//go:build unix

package lock

import (
	"time"

	"golang.org/x/sys/unix"
)

// A stamp is the state of a file. Every change of the file changes it, because
// programs cannot set the ctime.
type stamp struct {
	device, inode uint64
	size          int64
	mtime, ctime  unix.Timespec
}

// stampOf returns the state of a file, and whether a later change will change
// it. A change within the same tick of the file system's clock would not.
func stampOf(path string) (stamp, bool) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return stamp{}, false
	}
	return stamp{uint64(st.Dev), st.Ino, st.Size, st.Mtim, st.Ctim}, //nolint:unconvert // Dev has another type elsewhere
		time.Since(time.Unix(st.Ctim.Unix())) > time.Second
}
