package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// pollable opens the pipe of f again. The new file description has its own flags,
// so it can be non-blocking without affecting a process that shares f; only the
// larger pipe size is shared. It returns f if the pipe cannot be opened.
func pollable(f *os.File) *os.File {
	if !isFIFO(f) {
		return f
	}
	own, err := os.OpenFile("/proc/self/fd/1", os.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return f
	}
	widen(own)
	return own
}
