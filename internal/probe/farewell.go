package probe

import (
	"bytes"
	"time"

	"mcp-all-in-one/internal/mcp"
)

// partingTime is how long the last words to a server may take.
const partingTime = 500 * time.Millisecond

// partings count the calls that were cancelled and the cancellations that were
// written, so that a connection is not closed between the two: a server that
// never hears of it goes on working.
type partings struct {
	written chan struct{}
	due     chan struct{}
}

const maxPartings = 64

func newPartings() partings {
	return partings{written: make(chan struct{}, maxPartings), due: make(chan struct{}, maxPartings)}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// saw notes a message that was written.
func (p *partings) saw(msg []byte) {
	head := msg[:min(len(msg), 128)]
	if bytes.Contains(head, []byte(`"`+mcp.NotificationCancelled+`"`)) {
		signal(p.written)
	}
}

// wait lets the cancellations of all cancelled calls be written.
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
