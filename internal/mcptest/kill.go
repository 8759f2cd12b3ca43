package mcptest

import "os"

// Kill ends a process that a test has started, at once and on every system. The
// error is os.ErrProcessDone when it had ended already.
func Kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer p.Release()
	return p.Kill()
}
