//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"errors"
	"syscall"
)

// ExecCommand is the argument by which this program is the launcher.
const ExecCommand = "__exec"

// ABI is the version of Landlock in this kernel, zero without it.
func ABI() int { return 0 }

// Exec is the body of the launcher, which there is not on this system.
func Exec() int { return 127 }

// Launch starts nothing on this system.
func Launch(Request, *syscall.ProcAttr) (int, func() error, error) {
	return 0, nil, errors.ErrUnsupported
}

const able = false

func mayAnswer() bool { return false }
