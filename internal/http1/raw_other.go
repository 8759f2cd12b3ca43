//go:build !linux && !darwin

package http1

import "net"

func newTryWriter(net.Conn) tryWriter { return nil }
