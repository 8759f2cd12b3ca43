//go:build !linux

package httpclient

import "syscall"

// setUserTimeout does nothing: TCP keep-alive detects vanished peers.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
