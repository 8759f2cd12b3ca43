//go:build unix

package daemon

import (
	"os"
	"syscall"
)

// restarts reports whether startAgain works on this system.
const restarts = true

// startAgain makes this process run its program again, with the same arguments.
// It returns only if that fails.
func startAgain() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(program, os.Args, os.Environ())
}
