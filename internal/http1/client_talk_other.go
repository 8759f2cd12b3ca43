//go:build !linux && !darwin

package http1

import (
	"net"
	"syscall"
)

// canTalk is false: every request is for net/http, which reads from kept
// connections all the time.
const canTalk = false

type talker struct{ raw syscall.RawConn }

func newTalker(net.Conn) *talker { return nil }

func (*talker) open() bool { return false }

func (*talker) talk([]byte, bool, func()) (sent, got int, err error) { return 0, 0, errStale }
