package duplex

import (
	"context"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

const (
	drainCheck = 5 * time.Millisecond
	// lastWord is how long a cancelled handler may take to return.
	lastWord = 5 * time.Second
)

// Drain refuses new requests of the peer with last and lets the requests in
// flight finish until ctx ends. It then cancels the remaining requests with the
// cause cut, and returns their number. Their handlers answer them; cut is the
// answer to a request whose handler has no other or does not return.
func (c *Conn) Drain(ctx context.Context, last, cut *jsonrpc.Error) int {
	c.draining.Store(last)
	left, ended := c.drained(ctx)
	if ended {
		return 0
	}
	for _, in := range left {
		in.cancel(cut)
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer cancel()
	late, _ := c.drained(grace)
	for _, in := range late {
		if in.state.CompareAndSwap(requestRuns, requestDone) {
			c.answer(in.id, &jsonrpc.Response{Err: cut}, in.batch)
		}
	}
	return len(left)
}

// drained waits until no request of the peer is in flight; it reports false and
// returns those left if ctx ended first.
func (c *Conn) drained(ctx context.Context) (left []*inbound, ended bool) {
	tick := time.NewTicker(drainCheck)
	defer tick.Stop()
	for {
		left = c.requests.inFlight()
		if len(left) == 0 {
			return nil, true
		}
		select {
		case <-c.done:
			return nil, true
		case <-tick.C:
		case <-ctx.Done():
			return left, false
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
