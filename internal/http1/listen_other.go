//go:build !linux

package http1

import (
	"net"
	"time"
)

func noMore(net.Listener) (waits func(time.Duration) bool) { return nil }
