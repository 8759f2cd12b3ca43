package probe

import (
	"bytes"
	"time"

	"mcp-all-in-one/internal/mcp"
)

// partingTime limits the time for sending the last messages to a server.
const partingTime = 500 * time.Millisecond

// partings counts cancelled calls and written cancellations, so that a
// connection is not closed between the two: a server that does not receive a
// cancellation continues to work.
type partings struct {
	written chan struct{}
	due     chan struct{}
}

const maxPartings = 64

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// saw records a written message.
func (p *partings) saw(msg []byte) {
	head := msg[:min(len(msg), 128)]
	if bytes.Contains(head, []byte(`"`+mcp.NotificationCancelled+`"`)) {
		signal(p.written)
	}
}

// wait waits until the cancellations of all cancelled calls are written.
func (p *partings) wait() {
	timer := time.NewTimer(partingTime)
	defer timer.Stop()
	for {
		select {
		case <-p.due:
		default:
			return
		}
		select {
		case <-p.written:
		case <-timer.C:
			return
		}
	}
}
