//go:build !linux

package mcphttp

import "syscall"

// setUserTimeout leaves vanished peers to TCP's keep-alive.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
