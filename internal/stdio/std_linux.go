package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// pollable opens the pipe behind f once more. The new description has flags of
// its own: it does not wait when the pipe is full, and a process that shares f notices
// nothing but that the pipe holds more. It returns f where that cannot be had.
func pollable(f *os.File) *os.File {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return f
	}
	own, err := os.OpenFile("/proc/self/fd/1", os.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return f
	}
	widen(own)
	return own
}
