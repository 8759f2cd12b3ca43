//go:build unix

package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// standardFiles opens standard input for the poller. It does the same with output
// if both are one socket, as with inetd. Otherwise the file description of output
// stays unchanged, because standard error often shares it.
func standardFiles() (in, out *os.File) {
	in, out = os.Stdin, os.Stdout
	if !isPipe(in) || unix.SetNonblock(unix.Stdin, true) != nil {
		return in, out
	}
	if a, err := in.Stat(); err == nil {
		if b, err := out.Stat(); err == nil && os.SameFile(a, b) {
			out = os.NewFile(uintptr(unix.Stdout), "stdout")
		}
	}
	return os.NewFile(uintptr(unix.Stdin), "stdin"), pollable(out)
}

func isPipe(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}
