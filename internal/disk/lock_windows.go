package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes the lock unless another process has it.
func tryLock(f *os.File) (busy bool, err error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return true, nil
	}
	return false, err
}

// keepOwner does nothing: a new file inherits its rights from its folder.
func keepOwner(name, old string) {}
