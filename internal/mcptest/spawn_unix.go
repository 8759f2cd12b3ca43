//go:build unix

package mcptest

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// Detach makes a command the leader of its own session.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// IgnoreTerm makes this process ignore SIGTERM, SIGINT and SIGHUP.
func IgnoreTerm() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) }

func terminate(p *os.Process) { _ = p.Signal(syscall.SIGTERM) } // it may already have exited
