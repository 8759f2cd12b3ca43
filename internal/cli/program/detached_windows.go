package program

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detached makes a process outlive its parent and its console.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
