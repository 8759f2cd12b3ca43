package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// wide is the size of the pipe that responses pass through. A large response then
// needs only a few switches between writer and reader, not one for every 64 KiB.
// The kernel allocates memory only for the data in the pipe.
const wide = 1 << 20

// widen enlarges the pipe f, if the system allows it.
func widen(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, wide) })
}
