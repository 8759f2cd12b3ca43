package jsonrpc

import (
	"context"
	"time"
)

const drainCheck = 5 * time.Millisecond

// Drain refuses new requests of the peer with last and lets the requests in
// flight finish until ctx ends. It then cancels the remaining requests, answers
// each of them with last, and returns their number.
func (c *Conn) Drain(ctx context.Context, last *Error) int {
	c.draining.Store(last)
	tick := time.NewTicker(drainCheck)
	defer tick.Stop()
	for {
		left := c.requests.inFlight()
		if len(left) == 0 {
			return 0
		}
		select {
		case <-c.done:
			return 0
		case <-tick.C:
		case <-ctx.Done():
			for _, in := range left {
				if in.state.CompareAndSwap(requestRuns, requestDone) {
					c.answer(in.id, &Response{Err: last}, in.batch)
				}
				in.cancel(context.Cause(ctx))
			}
			return len(left)
		}
	}
}

// inFlight returns the unanswered requests of the peer.
func (r *requests) inFlight() []*inbound {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*inbound
	for _, in := range r.byID {
		for ; in != nil; in = in.next {
			list = append(list, in)
		}
	}
	return list
}
