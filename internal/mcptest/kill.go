package mcptest

import "os"

// Kill kills a process that a test has started, on every system. The error is
// os.ErrProcessDone if the process had already ended.
func Kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer p.Release()
	return p.Kill()
}
