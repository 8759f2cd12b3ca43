//go:build unix

package program

import "syscall"

// detached has a process outlive the one that starts it, and its terminal.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
