package stdio

import (
	"math"

	"golang.org/x/sys/unix"
)

// closeOnExecAbove marks all descriptors above one at once. Kernels before 5.11
// cannot.
func closeOnExecAbove(fd int) error {
	return unix.CloseRange(uint(fd)+1, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}
