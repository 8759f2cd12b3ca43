package wire

import "time"

// later is an answer that somebody else gives while the connection reads on.
type later struct {
	begun    bool      // of the goroutine that reads
	finished chan bool // whether the connection can go on; made at the first use

	// Both are guarded by conn.mu.
	over    bool // it has been given
	patient bool // nothing bounds the wait for the next request meanwhile
}

// Defer implements LaneWriter. The goroutine that reads sees for itself that
// the client is gone, so that nobody else has to.
func (a *answer) Defer() {
	c := a.conn
	if c.later.finished == nil {
		c.later.finished = make(chan bool, 1)
	}
	c.later.begun = true
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch.on = false
	c.later.over, c.later.patient = false, false
}

// Recall implements LaneWriter.
func (a *answer) Recall() {
	c := a.conn
	c.later.begun = false
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch.on = true
}

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
// who are late; then there is no such time.
func (c *conn) waitOn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.later.begun || c.later.over {
		return false
	}
	c.later.patient = true
	c.due = time.Time{}
	c.nc.SetReadDeadline(c.due)
	return true
}

// gone ends the request whose client is not there any more.
func (c *conn) gone() {
	c.mu.Lock()
	c.watch.gone = true
	cancel := c.watch.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel(ErrGone)
	}
}

// maxAtOnce is the size from which an answer is written by a goroutine of its own:
// whoever finishes it has others to look after.
const maxAtOnce = 4 << 10

// Finish implements LaneWriter.
func (a *answer) Finish() {
	if a.ready != nil && a.err == nil && len(a.ready) < maxAtOnce {
		if a.ready, a.err = a.raw.writeNow(a.ready); len(a.ready) == 0 || a.err != nil {
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
	c.watch = watch{}
	c.mu.Unlock()
	if cancel != nil {
		cancel(nil)
	}
	keep := c.out.close()
	if !c.rest() || !keep {
		keep = false
		c.nc.Close() // the body was all here, so that nothing unread is lost
	}
	c.mu.Lock()
	c.later.over = true
	if wait := c.front.server.IdleTimeout; c.later.patient && wait > 0 {
		c.nc.SetReadDeadline(time.Now().Add(wait))
	}
	c.mu.Unlock()
	c.later.finished <- keep
}
