//go:build unix

package daemon

import (
	"os"
	"syscall"
)

// restarts reports whether startAgain works on this system.
const restarts = true

// startAgain makes this process run its program again, with the same arguments.
// from is the address that it listened on. startAgain returns only if it fails.
func startAgain(from string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(program, os.Args, append(os.Environ(), movedFrom+"="+from))
}
