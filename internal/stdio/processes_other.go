//go:build unix && !linux && !darwin

package stdio

import "syscall"

// reparents says that orphans become children of the helper.
const reparents = false

func becomeReaper() error { return nil }

// childAttr puts a child into its own process group.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// processes knows no portable way to read the process table.
func processes() []proc { return nil }

func openPipes(int) []uint64 { return nil }
