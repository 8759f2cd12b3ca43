package mcphttp

import "sync"

// An outbox holds what a session has to say outside any call until one of its
// streams takes it.
type outbox struct {
	mu    sync.Mutex
	msgs  [][]byte
	bytes int
	wake  chan struct{}
}

// push adds a message and returns how many of the oldest had to go for it. The
// message itself may be over the limit: it is as large as its sender may make
// it.
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

// pop returns the oldest message, nil when there is none.
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

// nudge wakes a reader when something waits: the one that was woken may have
// left.
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
