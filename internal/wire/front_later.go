package wire

import "time"

// later is an answer that somebody else gives while the connection reads on.
type later struct {
	begun    bool      // of the goroutine that reads
	finished chan bool // whether the connection can go on; made at the first use

	// Both are guarded by conn.mu, and false when a request begins.
	over    bool // it has been given
	patient bool // the wait for the next request is counted from then on
}

// Defer implements LaneWriter. The client is watched until the goroutine that
// reads does so for itself.
func (a *answer) Defer() {
	c := a.conn
	if c.later.finished == nil {
		c.later.finished = make(chan bool, 1)
	}
	c.later.begun = true
}

// Recall implements LaneWriter.
func (a *answer) Recall() { a.conn.later.begun = false }

// settled waits for the deferred answer, when the next request is here or the
// client is gone; false means that the connection is over.
func (c *conn) settled(here bool) bool {
	if !here {
		c.gone()
	}
	c.later.begun = false
	return <-c.later.finished
}

// waitOn says, when the time to wait for the next request is over, that it is we
// who are late; then that time begins with our answer, or now if that is given.
func (c *conn) waitOn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.later.begun || c.later.patient {
		return false
	}
	c.later.patient = true
	if c.due = (time.Time{}); c.later.over {
		c.due = time.Now().Add(c.front.server.IdleTimeout)
	}
	c.nc.SetReadDeadline(c.due)
	return true
}

// gone ends the request whose client is not there any more.
func (c *conn) gone() {
	c.mu.Lock()
	c.watch.gone = true
	cancel, hears := c.watch.cancel, c.watch.hears
	c.mu.Unlock()
	if cancel != nil {
		cancel(ErrGone)
	}
	if hears != nil {
		hears.HungUp()
	}
}

// maxAtOnce is the size from which an answer is written by a goroutine of its own:
// whoever finishes it has others to look after.
const maxAtOnce = 16 << 10

// Finish implements LaneWriter.
func (a *answer) Finish() {
	if a.ready != nil && a.err == nil && a.sent < maxAtOnce {
		if a.err = a.writeNow(); len(a.ready) == 0 || a.err != nil {
			a.conn.finish()
			return
		}
	}
	go a.conn.finish() // it is large, comes in pieces, or the client is slow
}

// finish writes what is left of a deferred answer.
func (c *conn) finish() {
	c.mu.Lock()
	cancel := c.watch.cancel
	c.watch.ctx, c.watch.cancel, c.watch.hears = nil, nil, nil // the rest is for the goroutine that reads
	c.mu.Unlock()
	if cancel != nil {
		cancel(nil)
	}
	keep := c.out.close()
	c.mu.Lock()
	c.busy, c.later.over = false, true
	if c.retired || !keep {
		keep = false
		c.nc.Close() // the body was all here, so that nothing unread is lost
	}
	if c.parking.on {
		c.restedLocked(keep)
		return
	}
	if wait := c.front.server.IdleTimeout; c.later.patient && wait > 0 {
		c.nc.SetReadDeadline(time.Now().Add(wait))
	}
	c.later.finished <- keep
	c.mu.Unlock()
}
