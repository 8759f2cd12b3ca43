package wire

import (
	"context"
	"net/http"
	"time"

	"mcp-all-in-one/internal/loop"
)

// A Lane answers requests of one connection that differ in their bodies alone
// from one that the handler has answered: same path, same header, same client.
// Whoever sets one has judged all that, and judges again what may have changed
// meanwhile.
type Lane interface {
	// Serve answers a request, or reports false and has done nothing: the
	// handler gets it then, and the lane is forgotten. The body is valid until
	// Serve returns.
	Serve(w LaneWriter, body []byte) bool
	// Begin is Serve where nobody may wait: it defers the answer, or reports
	// false and has done nothing, and Serve gets the request.
	Begin(w LaneWriter, body []byte, t *loop.Turn) bool
	// Idle says, between requests, that none has come for a while: what can be
	// had again may go. It must not wait.
	Idle()
}

// A LaneWriter is how the requests of a Front are answered, by handlers too.
type LaneWriter interface {
	http.ResponseWriter
	// SetLane has requests that repeat the head of this one answered by l.
	SetLane(l Lane)
	// Context is that of the request.
	Context() context.Context
	// Hear has h told if the client hangs up before it is answered.
	Hear(h Hearer)
	// Room is memory for a text of about n bytes, to be given to JSON.
	Room(n int) []byte
	// JSON is the whole answer. Each part of it may take so long to be written.
	JSON(status int, within time.Duration, text []byte)
	// JSONAround is JSON for a large text in three pieces, of which the second
	// one is not copied: free gives its memory back.
	JSONAround(status int, within time.Duration, before, text, after []byte, free func())
	// Defer lets a Lane answer after Serve has returned, from any goroutine,
	// until Finish; Recall takes that back.
	Defer()
	Recall()
	// Finish says that a deferred request is answered. It does not wait for
	// the client.
	Finish()
}

// A Hearer hears that a client has hung up. It must not wait.
type Hearer interface{ HungUp() }

// byLane has a request answered that is all here.
func (c *conn) byLane() bool {
	lane, n := c.lane, c.head.length
	if n > int64(c.end-c.start) {
		return false
	}
	c.body.begin(c, 0) // what comes behind it may be read
	if lane.Serve(&c.out, c.buf[c.start:c.start+int(n)]) {
		c.used = int(n)
		return true
	}
	c.body.all.Store(false) // the handler reads it
	c.lookAway(true)
	c.lane = nil
	return false
}

// SetLane implements LaneWriter.
func (a *answer) SetLane(l Lane) { a.conn.lane = l }

// Context implements LaneWriter.
func (a *answer) Context() context.Context { return a.conn.context() }

// Hear implements LaneWriter.
func (a *answer) Hear(h Hearer) {
	c := a.conn
	c.mu.Lock()
	c.watch.hears = h
	gone := c.watch.gone
	c.mu.Unlock()
	if gone {
		h.HungUp()
	}
}
