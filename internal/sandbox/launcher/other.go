//go:build !linux || !(amd64 || arm64)

package launcher

// ABI is the version of Landlock in this kernel, zero without it.
func ABI() int { return 0 }

// Exec is the body of the launcher, which there is not on this system.
func Exec() int { return 127 }
