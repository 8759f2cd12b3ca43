//go:build unix

package program

import "syscall"

// detached makes a process outlive its parent and its terminal.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
