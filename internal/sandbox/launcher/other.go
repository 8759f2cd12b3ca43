//go:build !linux || !(amd64 || arm64)

package launcher

// ABI returns the Landlock version of this kernel, zero if it has none.
func ABI() int { return 0 }

// Exec is the main function of the launcher, which does not exist on this system.
func Exec() int { return 127 }
