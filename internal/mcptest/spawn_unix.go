//go:build unix

package mcptest

import (
	"os/exec"
	"os/signal"
	"syscall"
)

// Detach makes a command the leader of a session of its own.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// IgnoreTerm makes this process ignore SIGTERM, SIGINT and SIGHUP.
func IgnoreTerm() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) }
