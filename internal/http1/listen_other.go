//go:build !linux

package http1

import (
	"net"
	"time"
)

// noMore returns a function that says for a moment that somebody may wait to be
// accepted.
func noMore(net.Listener) (waits func(time.Duration) bool) {
	began := time.Now()
	return func(wait time.Duration) bool { return time.Since(began) < wait }
}
