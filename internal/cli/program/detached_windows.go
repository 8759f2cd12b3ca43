package program

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detached has a process outlive the one that starts it, and its console.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
