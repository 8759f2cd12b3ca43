//go:build unix

package stdio

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// keepFiles keeps all our files but the standard ones from the processes that
// we start. Those that we open ourselves are kept anyway; those that our own
// parent left open are not. It returns an error when it cannot tell which there
// are.
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
