package wire

import (
	"context"
	"net/http"
	"sync"
	"time"
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
	Begin(w LaneWriter, body []byte, t *Turn) bool
}

// A LaneWriter is how the requests of a Front are answered, by handlers too.
type LaneWriter interface {
	http.ResponseWriter
	// SetLane has requests that repeat the head of this one answered by l.
	SetLane(l Lane)
	// Context is that of the request.
	Context() context.Context
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

const (
	// headRoom is what stands free in front of a text for the usual head.
	headRoom = 192
	// maxAround is how much may stand around a text that is not copied.
	maxAround = 64
)

// A room is memory for one answer. It is used again as soon as that is written:
// then it is near.
type room struct{ buf []byte }

var rooms = sync.Pool{New: func() any { return &room{make([]byte, 0, 2<<10)} }}

// Room implements LaneWriter.
func (a *answer) Room(n int) []byte {
	if n += headRoom; a.ready != nil {
		return make([]byte, 0, n) // the answer stands in ours
	}
	if a.room == nil {
		a.room = rooms.Get().(*room)
	}
	if cap(a.room.buf) < n {
		a.room.buf = make([]byte, 0, n)
	}
	return a.room.buf[headRoom:headRoom:cap(a.room.buf)]
}

func (a *answer) leaveRoom() {
	if r := a.room; r != nil && cap(r.buf) <= kept {
		rooms.Put(r)
	}
	a.room = nil
}

// JSON implements LaneWriter.
func (a *answer) JSON(status int, within time.Duration, text []byte) {
	head, ok := a.headFor(status, within, len(text))
	if !ok {
		return
	}
	if start := headRoom - len(head); start >= 0 && a.inRoom(text) {
		a.ready = a.room.buf[:headRoom+len(text)][start:]
		copy(a.ready, head)
		return
	}
	a.ready = append(head, text...)
}

// headFor begins the one whole answer; false when there is one already.
func (a *answer) headFor(status int, within time.Duration, length int) ([]byte, bool) {
	if a.status != 0 {
		return nil, false
	}
	a.status, a.length, a.sent = status, int64(length), int64(length)
	a.raw.within = within
	return a.appendHead(append(appendStatus(a.scratch[:0], status), "Content-Type: application/json\r\n"...)), true
}

// JSONAround implements LaneWriter.
func (a *answer) JSONAround(status int, within time.Duration, before, text, after []byte, free func()) {
	head, ok := a.headFor(status, within, len(before)+len(text)+len(after))
	if !ok {
		free()
		return
	}
	a.ready = append(head, before...)
	a.text, a.free = text, free
	a.after = append(a.end[:0], after...)
}

// inRoom says that a text was built in the memory that Room returned.
func (a *answer) inRoom(text []byte) bool {
	return len(text) > 0 && a.room != nil && cap(a.room.buf) >= headRoom+len(text) && &a.room.buf[:headRoom+1][headRoom] == &text[0]
}
