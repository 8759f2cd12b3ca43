//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"errors"
	"syscall"
)

// Launch is not supported on this system.
func Launch(Request, *syscall.ProcAttr) (int, func() error, error) {
	return 0, nil, errors.ErrUnsupported
}

const able = false

func mayAnswer() bool { return false }
