//go:build unix && !linux && !darwin

package stdio

import "syscall"

// becomeReaper reports false: orphans do not become our children.
func becomeReaper() (bool, error) { return false, nil }

// childAttr puts a child into its own process group.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// processes returns nil: there is no portable way to read the process table.
func processes() []proc { return nil }

func openPipes(int) []uint64 { return nil }
