//go:build !linux && !darwin

package http1

import (
	"net"
	"syscall"
)

// canTalk is false: net/http sends every request. It always reads from its idle
// connections.
const canTalk = false

type talker struct{ raw syscall.RawConn }

func newTalker(net.Conn) *talker { return nil }

func (*talker) open() bool { return false }

func (*talker) talk([]byte, bool, func()) (sent, got int, err error) { return 0, 0, errStale }
