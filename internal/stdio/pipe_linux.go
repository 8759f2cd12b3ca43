package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// wide is how much a pipe that answers pass through holds: of a large one that
// is a few turns of writer and reader, not a turn for every 64 KiB. The kernel
// takes memory for what is in it only.
const wide = 1 << 20

// widen lets the pipe f hold more, where the system allows it.
func widen(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, wide) })
}
