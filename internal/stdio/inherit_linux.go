package stdio

import (
	"math"

	"golang.org/x/sys/unix"
)

// closeOnExecAbove marks all descriptors above fd at once. Kernels before 5.11 do
// not support it.
func closeOnExecAbove(fd int) error {
	return unix.CloseRange(uint(fd)+1, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}
