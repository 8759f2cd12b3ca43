package mcphttp

import "sync"

// An outbox queues the messages of a session outside calls until one of its streams
// takes them.
type outbox struct {
	mu    sync.Mutex
	msgs  [][]byte
	bytes int
	wake  chan struct{}
}

// push adds a message and returns how many of the oldest messages it dropped. msg
// itself does not count towards the byte limit: its size is limited elsewhere.
func (o *outbox) push(msg []byte, lim *ServerLimits) (dropped int) {
	o.mu.Lock()
	o.msgs = append(o.msgs, msg)
	o.bytes += len(msg)
	for limit := overQueue(len(o.msgs), o.bytes-len(msg), lim); limit != ""; limit = overQueue(len(o.msgs), o.bytes-len(msg), lim) {
		lim.Hits.Add(limit)
		o.popLocked()
		dropped++
	}
	o.mu.Unlock()
	signal(o.wake)
	return dropped
}

// pop returns the oldest message, nil if there is none.
func (o *outbox) pop() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.msgs) == 0 {
		return nil
	}
	return o.popLocked()
}

func (o *outbox) popLocked() []byte {
	msg := o.msgs[0]
	o.msgs[0] = nil
	o.msgs = o.msgs[1:]
	o.bytes -= len(msg)
	if len(o.msgs) == 0 {
		o.msgs = nil
	}
	return msg
}

// nudge wakes a reader if messages are queued: the reader that was woken before may
// have disconnected.
func (o *outbox) nudge() {
	if o.len() > 0 {
		signal(o.wake)
	}
}

func (o *outbox) len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.msgs)
}
