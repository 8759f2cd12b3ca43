package mcptest

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// Detach starts a command outside the console group of its parent.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// IgnoreTerm makes this process ignore interrupts.
func IgnoreTerm() { signal.Ignore(os.Interrupt) }

func terminate(p *os.Process) { _ = p.Kill() } // Windows has no SIGTERM
