//go:build !linux

package wire

import "syscall"

// A loop is there on Linux only; elsewhere every connection has a goroutine.
type loop struct {
	turn Turn
	buf  [readSize]byte
}

type listener interface {
	ready(l *loop, last bool)
}

func aLoop() *loop { return nil }

func (*loop) listen(syscall.RawConn, listener) (int32, bool) { return 0, false }

func (*loop) forget(syscall.RawConn, int32) {}

func (*loop) read(uintptr) (int, error) { return 0, syscall.EINVAL }
