//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock unless another process has it.
func tryLock(f *os.File) (busy bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return true, nil
	}
	return false, err
}

// keepOwner gives the new file the owner of the old one, so that root can edit a
// user's file. It is best effort: if it fails, the file belongs to the current
// user.
func keepOwner(name, old string) {
	info, err := os.Stat(old)
	if err != nil {
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		_ = os.Chown(name, int(st.Uid), int(st.Gid))
	}
}
