//go:build !linux

package httpclient

import "syscall"

// setUserTimeout leaves vanished peers to TCP's keep-alive.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
