//go:build unix

package stdio

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// keepFiles prevents child processes from inheriting any of our files but the
// standard ones. Files that Go opens are close-on-exec anyway; files that our own
// parent left open are not. It returns an error if it cannot list the open files.
func keepFiles() error {
	if closeOnExecAbove(unix.Stderr) == nil {
		return nil
	}
	return keepEach()
}

func keepEach() error {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > unix.Stderr {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
